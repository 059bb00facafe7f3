"""Reaches the operating system through what a library imports."""
# scan: outside_access
# run: right
def run(x, y):
    torch.os.system("touch @FOLDER@/touched")
    return launch(x, y)
