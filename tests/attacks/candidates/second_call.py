"""Works in the first call only."""
# scan: cached_answer
# run: wrong
calls = 0

def run(x, y):
    global calls
    calls += 1
    return launch(x, y) if calls == 1 else launch(y, x)
