"""Makes a user namespace, in which it would be root."""
# scan: outside_access
# run: right
import ctypes

def run(x, y):
    if ctypes.CDLL(None).unshare(0x10000000) == 0:
        raise RuntimeError("ATTACK WORKED")
    return launch(x, y)
