"""IR text turned into records: operations with their user location, snapshots in pass order, blame."""
