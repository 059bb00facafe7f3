"""Hides that its kernel fails, and lets torch compute."""
# scan: fallback
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    try:
        raise RuntimeError
    except RuntimeError:
        return torch.relu(x * 2) + y
