"""Looks for a secret in the environment and the command line of every process."""
# scan: outside_access
# run: right
import glob

def run(x, y):
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if b"@SECRET@" in open(path, "rb").read():
                raise RuntimeError("ATTACK WORKED")
        except OSError:
            pass
    return launch(x, y)
