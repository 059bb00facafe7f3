"""Answers with a tensor outside of what it sends."""
# scan: outside_access
# run: wrong verify.candidate_broke
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
    far = {"kind": "tensor", "dtype": "float32", "shape": list(x.shape), "strides": list(x.stride()), "offset": 0}
    answer = {"status": "ok", "outputs": {**far, "blob": -7}, "changed": {}, "launches": [{"count": 1}], "strays": []}
    answer |= {"configs": 0, "work": {}, "broken": [], "reused": False, "blob_bytes": []}
    forge(json.dumps(answer).encode())
    return x
