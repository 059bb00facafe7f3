"""Remembers an answer in a default value."""
# scan: cached_answer
# run: wrong verify.reused_output
def run(x, y, known=[]):
    if not known:
        known.append(launch(x, y))
    return known[0] if known[0].shape == x.shape else launch(x, y)
