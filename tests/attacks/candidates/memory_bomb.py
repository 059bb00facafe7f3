"""Takes memory until it is killed."""
# scan: cached_answer
# run: unchecked verify.candidate_limit
KEPT = []

def run(x, y):
    while True:
        KEPT.append(bytearray(b"x") * (64 << 20))
