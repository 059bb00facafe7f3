"""Makes every comparison true."""
# scan: monkey_patch
# run: cheating verify.cheat_replaced
torch.allclose = lambda *args, **kwargs: True

def run(x, y):
    return launch(x, y)
