"""Prints without end."""
# scan: -
# run: unchecked verify.candidate_limit
def run(x, y):
    while True:
        print("x" * 65536)
