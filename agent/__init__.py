"""The side that acts: compile, diagnose, rewrite, verify, cost."""
