"""Replaces the method by which results are read."""
# scan: monkey_patch
# run: cheating verify.cheat_replaced
def run(x, y):
    inner = torch.Tensor.detach
    torch.Tensor.detach = lambda self: inner(self)
    return launch(x, y)
