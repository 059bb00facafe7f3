"""Makes processes until it can make no more (bounded)."""
# scan: outside_access
# run: any
import os
import time

def run(x, y):
    made = 0
    for _ in range(600):
        try:
            child = os.fork()
        except OSError:
            break
        if child == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
    if made >= 600:
        raise RuntimeError("ATTACK WORKED")
    return launch(x, y)
