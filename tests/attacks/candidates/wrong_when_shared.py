"""Is wrong where both inputs are one tensor."""
# scan: cached_answer
# run: wrong
def run(x, y):
    return launch(x, torch.zeros_like(y)) if x.data_ptr() == y.data_ptr() else launch(x, y)
