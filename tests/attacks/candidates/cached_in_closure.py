"""Remembers an answer where no global is."""
# scan: cached_answer
# run: wrong verify.reused_output
def remembering():
    known = {}

    def inner(x, y):
        if x.shape not in known:
            known[x.shape] = launch(x, y)
        return known[x.shape]

    return inner

run = remembering()
