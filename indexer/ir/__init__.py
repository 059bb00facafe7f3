"""IR text turned into records: operations with their user location, snapshots in pass order, blame.

A dump is read whole or refused with `ValueError`, which names the dump and the line: half a module would blame the
wrong passes. Only a location that cannot be read costs no more than the place of its own operation. Whatever the text,
reading neither recurses nor takes longer than in proportion to its size.
"""
