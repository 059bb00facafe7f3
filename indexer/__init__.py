"""Compiler sources and compiler output, turned into records and stores."""
