"""Hangs the answer on the input, for the next call."""
# scan: monkey_patch
# run: right
def run(x, y):
    x.answer = getattr(x, "answer", None) or (launch(x, y),)
    return x.answer[0]
