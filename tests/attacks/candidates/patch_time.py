"""Lets clocks stand still."""
# scan: monkey_patch
# run: cheating verify.cheat_replaced
import time

time.perf_counter = lambda: 0.0

def run(x, y):
    return launch(x, y)
