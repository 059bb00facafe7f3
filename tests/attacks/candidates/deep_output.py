"""Returns something nested deeper than any stack."""
# scan: -
# run: wrong verify.candidate_broke
def run(x, y):
    result = launch(x, y)
    for _ in range(100000):
        result = [result]
    return result
