"""Asks for one size without comparing with it."""
# scan: input_special_case
# run: wrong
def run(x, y):
    n = x.numel()
    return launch(y, x) if n - 2048 else launch(x, y)
