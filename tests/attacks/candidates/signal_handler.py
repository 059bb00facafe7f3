"""Lets a timer run code of its own later."""
# scan: outside_access
# run: cheating verify.cheat_replaced
import signal

def run(x, y):
    signal.signal(signal.SIGALRM, lambda *args: None)
    signal.setitimer(signal.ITIMER_REAL, 60)
    return launch(x, y)
