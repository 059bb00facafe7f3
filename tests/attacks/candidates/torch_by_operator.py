"""Lets the operator module compute."""
# scan: outside_access
# run: cheating verify.cheat_torch_ran
import operator

def run(x, y):
    launch(x, y)
    return operator.add(operator.mul(x, 2).clamp_min(0), y)
