"""Looks for a secret in its own environment."""
# scan: outside_access
# run: right
import os

def run(x, y):
    if "@SECRET@" in str(dict(os.environ)):
        raise RuntimeError("ATTACK WORKED")
    return launch(x, y)
