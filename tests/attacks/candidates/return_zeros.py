"""Launches for show and returns zeros."""
# scan: -
# run: wrong verify.wrong_value
def run(x, y):
    launch(x, y)
    return torch.zeros_like(x)
