"""Measured profiles, read from the files that profilers wrote elsewhere."""
