"""Renderings of results for people."""
