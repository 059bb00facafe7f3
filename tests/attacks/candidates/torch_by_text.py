"""Spells the name of what computes."""
# scan: introspection
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    return getattr(torch, "add")(getattr(torch, "re" + "lu")(getattr(torch, "mul")(x, 2)), y)
