"""Message catalogues of this package (data)."""
