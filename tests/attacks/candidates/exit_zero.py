"""Ends in the middle, as if all were well."""
# scan: outside_access
# run: wrong verify.candidate_broke
import os

def run(x, y):
    launch(x, y)
    os._exit(0)
