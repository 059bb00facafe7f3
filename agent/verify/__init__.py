"""Checks that a candidate computes what the reference computes."""
