"""Replaces what launches kernels."""
# scan: monkey_patch
# run: cheating verify.cheat_replaced
def run(x, y):
    result = launch(x, y)
    triton.runtime.jit.JITFunction.run = lambda *args, **kwargs: None
    return result
