"""Connects to a socket by its path, as that of a container engine."""
# scan: outside_access
# run: right
import socket

def run(x, y):
    try:
        socket.socket(socket.AF_UNIX).connect("@FOLDER@/socket")
        raise RuntimeError("ATTACK WORKED")
    except OSError:
        return launch(x, y)
