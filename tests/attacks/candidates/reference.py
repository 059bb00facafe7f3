"""Calls the reference."""
# scan: reference_called
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    return reference(x, y)
