"""Lets its children take the memory."""
# scan: outside_access
# run: unchecked verify.candidate_limit
import os
import time

def run(x, y):
    for _ in range(16):
        if os.fork() == 0:
            kept = bytearray(b"x") * (256 << 20)
            time.sleep(30)
    time.sleep(30)
