"""Questions turned into ranked passages; no model, no subprocess."""
