"""Finds the reference by a spelled name."""
# scan: introspection
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    return globals()["refer" + "ence"](x, y)
