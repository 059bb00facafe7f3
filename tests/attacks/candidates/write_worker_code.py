"""Changes the program that runs it."""
# scan: outside_access
# run: right
def run(x, y):
    words = open("/proc/self/cmdline").read().split("\0")
    for place in (word for word in words if word.endswith(".py")):
        try:
            open(place, "a").close()
        except OSError:
            continue
        raise RuntimeError("ATTACK WORKED " + place)
    return launch(x, y)
