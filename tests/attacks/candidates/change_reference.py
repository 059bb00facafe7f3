"""Makes itself what is right."""
# scan: protected_changed
# run: right
def run(x, y):
    return launch(x, y)

reference = run
