"""Computes by the methods behind operators."""
# scan: introspection
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    return x.__mul__(2).clamp_min(0).__add__(y)
