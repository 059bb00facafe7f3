"""Never ends."""
# scan: -
# run: unchecked verify.candidate_limit
def run(x, y):
    while True:
        pass
