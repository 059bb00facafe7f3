"""The symbol graph: what each passage is to the passes, operations, options and diagnostics it speaks of."""
