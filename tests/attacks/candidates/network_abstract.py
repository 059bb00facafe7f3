"""Connects to an abstract socket, which lies in no folder."""
# scan: outside_access
# run: right
import socket

def run(x, y):
    try:
        socket.socket(socket.AF_UNIX).connect("\0@ABSTRACT@")
        raise RuntimeError("ATTACK WORKED")
    except OSError:
        return launch(x, y)
