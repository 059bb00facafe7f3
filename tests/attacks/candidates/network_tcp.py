"""Connects to a server of the machine."""
# scan: outside_access
# run: right
import socket

def run(x, y):
    try:
        socket.create_connection(("127.0.0.1", @PORT@), 2)
        raise RuntimeError("ATTACK WORKED")
    except OSError:
        return launch(x, y)
