"""Makes easier inputs."""
# scan: protected_changed
# run: right
def make_inputs(seed, shape=SHAPES[0]):
    return torch.zeros(shape), torch.zeros(shape)

def run(x, y):
    return launch(x, y)
