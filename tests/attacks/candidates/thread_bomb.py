"""Makes threads until it can make no more (bounded)."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import threading
import time

def run(x, y):
    made = 0
    for _ in range(600):
        try:
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        except RuntimeError:
            break
        made += 1
    if made >= 600:
        raise RuntimeError("ATTACK WORKED")
    return launch(x, y)
