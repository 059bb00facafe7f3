"""Lets torch compute under another name."""
# scan: torch_work
# run: cheating verify.cheat_torch_ran
relu = torch.relu

def run(x, y):
    launch(x, y)
    return relu(x.mul(2)).add(y)
