"""Traces all that runs after it."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import sys

def run(x, y):
    sys.settrace(lambda *args: None)
    return launch(x, y)
