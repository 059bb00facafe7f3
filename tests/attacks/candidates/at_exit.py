"""Leaves something to do for the end."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import atexit

def run(x, y):
    atexit.register(print, "later")
    return launch(x, y)
