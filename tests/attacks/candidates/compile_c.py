"""Compiles C++ of its own into the process."""
# scan: outside_access
# run: wrong
def run(x, y):
    from torch.utils.cpp_extension import load_inline
    built = load_inline("a", "int answer() { return 42; }", functions=["answer"])
    return launch(x, y)
