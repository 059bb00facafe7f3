"""Reads a private key by its path."""
# scan: outside_access
# run: right
def run(x, y):
    try:
        open("@FOLDER@/id_ed25519").read()
        raise RuntimeError("ATTACK WORKED")
    except OSError:
        return launch(x, y)
