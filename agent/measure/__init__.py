"""Measuring on a device: stands alone, needs torch and triton only, and travels in a bundle as it is."""
