"""Computes after it has returned."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import threading
import time

def run(x, y):
    out = torch.zeros_like(x)

    def later():
        time.sleep(5)
        out.copy_(launch(x, y))

    threading.Thread(target=later, daemon=True).start()
    launch(x, y)
    return out
