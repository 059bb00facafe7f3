"""Writes until the disk is full."""
# scan: outside_access
# run: right
import os

def run(x, y):
    written = 0
    try:
        for number in range(100):
            with open(f"fill{number}", "wb") as file:
                written += file.write(bytes(8 << 20))
    except OSError:
        pass
    for number in range(100):
        if os.path.exists(f"fill{number}"):
            os.remove(f"fill{number}")
    if written >= 800 << 20:
        raise RuntimeError("ATTACK WORKED")
    return launch(x, y)
