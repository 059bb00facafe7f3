"""Whether a host is right on the device: every shape, several seeds, poisoned outputs, against double precision."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch

from .hosts import copied, inputs_of, moved, poisoned, shapes_of, tensors_of, widened

# The same tolerances as those of the checks without a device: some roundings of the output's own type.
_RELATIVE = {
    torch.float64: 1e-10,
    torch.float32: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 2e-2,
}
# Sums longer than this widen the tolerance by the square root of their length, as a random walk drifts.
_SUM_LENGTH = 65536
_TINY = 1e-6


class Wrong(Exception):
    """A result is not what it should be; the text says where and by how much."""


class Case:
    """One set of inputs, and what is right for it: outputs, and the inputs as they are afterwards.

    Made on the CPU; `answer` puts it on the device and asks the reference.
    """

    def __init__(self, module: ModuleType, device: str, seed: int, shape: Any) -> None:
        self.name = f"shape {shape}, seed {seed}"
        self.inputs = moved(inputs_of(module, seed, shape), device)
        self._module = module
        self.expected: list[torch.Tensor] = []
        self.after: list[torch.Tensor | None] = []

    def answer(self) -> Case:
        """Compute what is right, in double precision."""
        given = widened(self.inputs)
        self.expected = [tensor.clone() for tensor in tensors_of(self._module.reference(*given))]
        # What the reference changes in place; everything else must stay as it was.
        self.after = [
            new if isinstance(new, torch.Tensor) and not torch.equal(new, old) else None
            for new, old in zip(given, widened(self.inputs), strict=True)
        ]
        return self

    def check(self, run: Any) -> float:
        """Run a host on copies of the inputs; return the largest relative error, raise `Wrong` beyond the tolerance."""
        given = copied(self.inputs)
        outputs = tensors_of(poisoned(lambda: run(*given)))
        if len(outputs) != len(self.expected):
            raise Wrong(f"{self.name}: {len(outputs)} outputs instead of {len(self.expected)}")
        length = max((v.numel() for v in self.inputs if isinstance(v, torch.Tensor)), default=1)
        pairs = zip(outputs, self.expected, strict=True)
        worst = max(
            (self._compare(f"output {i}", got, want, length) for i, (got, want) in enumerate(pairs)), default=0.0
        )
        for number, (new, old, right) in enumerate(zip(given, self.inputs, self.after, strict=True)):
            if isinstance(new, torch.Tensor) and right is None and not torch.equal(new, old) and not _all_nan(new, old):
                raise Wrong(f"{self.name}: input {number} was changed")
            if right is not None:
                worst = max(worst, self._compare(f"input {number}", new, right, length))
        return worst

    def _compare(self, what: str, got: torch.Tensor, want: torch.Tensor, length: int) -> float:
        place = f"{self.name}, {what}"
        if got.shape != want.shape:
            raise Wrong(f"{place}: shape {tuple(got.shape)} instead of {tuple(want.shape)}")
        if got.numel() == 0:
            return 0.0
        if not got.is_floating_point():
            if not torch.equal(got.long(), want.long()):
                raise Wrong(f"{place}: {int((got.long() != want.long()).sum())} elements differ")
            return 0.0
        tolerance = _RELATIVE[got.dtype] * math.sqrt(max(1.0, length / got.numel() / _SUM_LENGTH))
        worst = _largest_error(got.double(), want.double())
        if not worst <= tolerance:
            raise Wrong(f"{place}: relative error {worst:.3g}, allowed {tolerance:.3g}")
        return worst


def cases_of(module: ModuleType, device: str, seeds: tuple[int, ...]) -> list[Case]:
    """Return the cases that count: the size that is timed under two seeds, every other size under all of them."""
    first, *others = shapes_of(module)
    plans = [*((seed, first) for seed in seeds[:2]), *((seed, shape) for shape in others for seed in seeds)]
    return [Case(module, device, seed, shape) for seed, shape in plans]


def split_cases(cases: list[Case]) -> tuple[list[Case], list[Case]]:
    """Return the cases of the size that is timed, and the others, which are small."""
    return cases[:2], cases[2:]


def check_all(cases: list[Case], run: Any) -> dict[str, Any]:
    """Check a host on every case; raises `Wrong` for the first fault."""
    worst = 0.0
    for case in cases:
        if not case.expected:
            case.answer()
        worst = max(worst, case.check(run))
    return {"cases": [case.name for case in cases], "max_error": worst}


def _largest_error(got: torch.Tensor, want: torch.Tensor) -> float:
    """Return the largest error relative to the element's size, or to the median size where it is smaller."""
    odd = ~torch.isfinite(want)
    if bool(odd.any()):
        same = (torch.isnan(got) & torch.isnan(want)) | (got == want)
        if not bool(same[odd].all()):
            return math.inf
        got, want = torch.where(odd, 0.0, got), torch.where(odd, 0.0, want)
    sizes = want.abs()
    # The median of a sample: a sort of a hundred million doubles would take longer than everything else.
    sample = sizes.flatten()[:: max(1, sizes.numel() // 1_000_003)]
    sample = sample[sample > 0]
    scale = float(sample.median()) if sample.numel() else _TINY / 1e-4
    worst = float(((got - want).abs() / sizes.clamp_min(scale)).max())
    return math.inf if math.isnan(worst) else worst


def _all_nan(new: torch.Tensor, old: torch.Tensor) -> bool:
    """Tell whether two tensors only differ as NaN does from itself."""
    return new.is_floating_point() and bool(((new == old) | (torch.isnan(new) & torch.isnan(old))).all())
