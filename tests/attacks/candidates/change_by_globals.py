"""Changes what is protected by a spelled name."""
# scan: introspection
# run: right
globals()["SHA" + "PES"] = [(1, 1)]

def run(x, y):
    return launch(x, y)
