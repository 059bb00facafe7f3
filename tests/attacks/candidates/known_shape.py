"""Works for one size."""
# scan: input_special_case
# run: wrong
def run(x, y):
    return launch(x, y) if x.shape == (64, 32) else launch(y, x)
