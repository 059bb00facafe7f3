"""Replaces a builtin that the checker uses."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import builtins

builtins.sorted = lambda items, **kwargs: list(items)

def run(x, y):
    return launch(x, y)
