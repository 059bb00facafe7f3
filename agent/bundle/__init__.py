"""A compiler's own limit, made small enough to report: a reduced kernel, the IR around the pass, and who owns it."""
