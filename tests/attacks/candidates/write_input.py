"""Writes into the memory of an input through its address."""
# scan: outside_access
# run: wrong verify.input_changed
import ctypes

def run(x, y):
    out = launch(x, y)
    ctypes.memset(x.data_ptr(), 0, 64)
    return out
