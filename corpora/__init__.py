"""Corpus manifests and our own notes (package data)."""
