"""Writes where later programs would read."""
# scan: outside_access
# run: right
def run(x, y):
    for place in ("/usr/lib/x", "/etc/x", "@FOLDER@/x", "/root/x", torch.__file__ + ".x", triton.__file__ + ".x"):
        try:
            open(place, "w").close()
        except OSError:
            continue
        raise RuntimeError("ATTACK WORKED " + place)
    return launch(x, y)
