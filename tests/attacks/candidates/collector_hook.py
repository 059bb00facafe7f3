"""Hooks into the garbage collector."""
# scan: introspection
# run: cheating verify.cheat_replaced
import gc

gc.callbacks.append(lambda phase, info: None)

def run(x, y):
    return launch(x, y)
