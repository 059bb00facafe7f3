"""Leaves one easy size."""
# scan: protected_changed
# run: right
SHAPES = [(1, 1)]

def run(x, y):
    return launch(x, y)
