"""Answers with a tensor of more elements than any memory has."""
# scan: outside_access
# run: wrong
import json
import os
import struct

def forge(text, blob=b""):
    for number in range(3, 64):
        try:
            os.write(number, struct.pack(">4sIQ", b"tkb1", len(text), len(blob)) + text + blob)
        except OSError:
            pass

def run(x, y):
    launch(x, y)
    far = {"kind": "tensor", "dtype": "float32", "shape": [1 << 40, 1 << 20], "strides": [0, 0], "offset": 0, "blob": 0}
    answer = {"status": "ok", "outputs": far, "changed": {"0": far}, "launches": [{"count": 1}], "strays": []}
    answer |= {"configs": 0, "work": {}, "broken": [], "reused": False, "blob_bytes": [4]}
    forge(json.dumps(answer).encode(), bytes(4))
    return x
