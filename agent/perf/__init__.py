"""Predicted cost from the compiled IR and the captured launch."""
