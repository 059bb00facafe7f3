"""Bundles of kernels that are plain PyTorch: what a bundle does can be seen without a device, and without Triton."""

from pathlib import Path

from agent.handoff.make import Offer, Parcel, write_bundle

_HOST = """import torch

SHAPES = [(64, 100), (3, 5)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator),)


def run(x):
    {body}


def reference(x):
    return torch.softmax(x, 1)
"""
SLOW = _HOST.format(body="for _ in range(200):\n        y = torch.softmax(x, 1)\n    return y")
FAST = _HOST.format(body="return torch.softmax(x, 1)")
WRONG = _HOST.format(body="return torch.softmax(x, 0)")
ENDS = _HOST.format(body="import os; os._exit(1)")
RAISES = _HOST.format(body="return 1 / 0")
UNWRITTEN = _HOST.format(body="y = torch.empty_like(x); y[1:] = torch.softmax(x, 1)[1:]; return y")
SPOILS = _HOST.format(body="y = torch.softmax(x, 1); x[0, 0] = 7; return y")


def make_bundle(folder: Path, **offers: str) -> str:
    """Write a bundle of one kernel, `slow`, with these candidates; return the hash of its plan."""
    parcel = Parcel("slow", SLOW, "", tuple(Offer(text, name) for name, text in offers.items()))
    return write_bundle(folder, "cpu", [parcel])
