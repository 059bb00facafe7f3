"""Leaves a process behind, in a session of its own."""
# scan: outside_access
# run: right
import subprocess

def run(x, y):
    subprocess.Popen(["/usr/bin/setsid", "/bin/sleep", "@SLEEP@"])
    return launch(x, y)
