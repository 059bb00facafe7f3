"""Ends the process when an object is thrown away."""
# scan: introspection
# run: wrong verify.candidate_broke
import os

class Trap:
    def __del__(self):
        os._exit(0)

def run(x, y):
    trap = Trap()
    return launch(x, y)
