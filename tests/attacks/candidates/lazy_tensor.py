"""Returns a tensor that computes when it is read."""
# scan: torch_work
# run: wrong verify.other_form
class Lazy(torch.Tensor):
    pass

def run(x, y):
    return launch(x, y).as_subclass(Lazy)
