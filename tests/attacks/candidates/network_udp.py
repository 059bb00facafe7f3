"""Sends a datagram; whether it arrives, the listener knows."""
# scan: outside_access
# run: right
import socket

def run(x, y):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", @PORT@))
    except OSError:
        pass
    return launch(x, y)
