"""Finds the reference in a frame."""
# scan: introspection
# run: cheating verify.cheat_torch_ran
import sys

def run(x, y):
    launch(x, y)
    return sys._getframe().f_globals["refer" + "ence"](x, y)
