"""Remembers an answer by the address of the input."""
# scan: cached_answer
# run: any
KNOWN = {}

def run(x, y):
    return KNOWN.setdefault((x.data_ptr(), id(x)), None) or launch(x, y)
