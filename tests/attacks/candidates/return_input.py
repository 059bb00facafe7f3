"""Returns its input."""
# scan: -
# run: wrong verify.nothing_launched
def run(x, y):
    return x
