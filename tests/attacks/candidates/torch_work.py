"""Launches for show and lets torch compute."""
# scan: torch_work
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    return torch.relu(x * 2) + y
