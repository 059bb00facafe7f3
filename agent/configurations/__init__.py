"""Candidates for a kernel on a device: forms of its source, each under a bounded set of configurations."""
