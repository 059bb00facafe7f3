"""Calls the operations below torch."""
# scan: torch_work
# run: cheating verify.cheat_torch_ran
def run(x, y):
    launch(x, y)
    return torch.ops.aten.add.Tensor(torch.ops.aten.relu.default(torch.ops.aten.mul.Tensor(x, 2)), y)
