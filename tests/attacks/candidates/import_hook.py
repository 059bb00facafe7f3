"""Decides what later imports give."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import sys

def run(x, y):
    sys.meta_path.insert(0, type("Finder", (), {"find_spec": lambda *args: None}))
    return launch(x, y)
