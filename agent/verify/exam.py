"""What every candidate for one original has to go through: the cases, and what the original makes of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent.records import KernelSource
from agent.toolchain.client import Worker
from agent.toolchain.targets import Target
from agent.verify.judge import Right, judge
from agent.verify.linalg import NotBuilt
from agent.verify.running import Broke, Inputs, Ran, Runner, make_inputs, run_reference
from agent.verify.shapes import count_shapes, odd_shape_line, order_shapes, with_injected, with_noise
from agent.verify.values import Values
from indexer.messages import Message, message

SEEDS = (0, 1, 2)
# More sizes than this are sampled: the first, the last, and some between.
SHAPES_MOST = 6
# Cases are kept for the next candidate as long as they fit into this.
_KEPT_BYTES = 512 << 20

Kind = Literal["plain", "odd", "noise", "nan", "inf"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a case is made: which of the file's shapes, which seed, and what is done to the inputs."""

    shape: int
    seed: int
    kind: Kind = "plain"


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs with what the original made of it, and the reference's answer where it is to be believed.

    `addition` is a line put at the end of either source: it adds a shape. `plain` is, in a case of noise, what the
    original made of the same inputs without noise.
    """

    recipe: Recipe
    addition: str
    inputs: Inputs
    baseline: Ran
    reference: Values | None
    plain: Ran | None = None

    @property
    def shape(self) -> str:
        """Name the size by the tensors' shapes: `64x256, 256x64`."""
        views = self.inputs.given.tensors()
        return ", ".join("x".join(map(str, view.shape)) or "scalar" for view in views) or "-"

    @property
    def bytes(self) -> int:
        """Return the size of the tensors in it."""
        kept = [self.inputs.given, self.baseline.outputs, *([] if self.reference is None else [self.reference])]
        return sum(len(blob) for values in kept for blob in values.blobs)


class CannotBuild(Exception):
    """A kernel cannot be run by this runner; `outcome` says why."""

    def __init__(self, outcome: NotBuilt) -> None:
        self.outcome = outcome
        super().__init__(outcome.reason.key)


class Exam:
    """The cases of one original by one runner, made when they are asked for and kept for the next candidate."""

    def __init__(self, worker: Worker, target: Target, runner: Runner, original: KernelSource) -> None:
        self.worker, self.target, self.runner, self.original = worker, target, runner, original
        self.notes: dict[str, Message] = {}
        self.first_shape = order_shapes(original.text, count_shapes(original.text))[0]
        self._kept: dict[Recipe, Case | Message | None] = {}
        self._kept_bytes = 0

    def recipes(self) -> Iterator[Recipe]:
        """Yield the cases to make, the telling ones first."""
        first = Recipe(self.first_shape, SEEDS[0])
        yield first
        case = self.case(first)
        if not isinstance(case, Case):
            return
        count = case.inputs.shapes
        shapes = [first.shape] if count == 1 else _sample(order_shapes(self.original.text, count))
        # Every seed on one shape, then another seed on each further shape: a kernel that is right by luck of the data,
        # or of the size, meets both.
        yield from (Recipe(first.shape, seed) for seed in SEEDS[1:])
        others = [shape for shape in shapes if shape != first.shape]
        yield from (Recipe(shape, SEEDS[number % len(SEEDS)]) for number, shape in enumerate(others, 1))
        if count == count_shapes(self.original.text) and odd_shape_line(self.original.text):
            yield Recipe(count, SEEDS[0], "odd")
        if case.baseline.changed:
            yield Recipe(self.first_shape, SEEDS[0], "noise")
        if _spoilable(case):
            yield Recipe(self.first_shape, SEEDS[0], "nan")
            yield Recipe(self.first_shape, SEEDS[0], "inf")

    def case(self, recipe: Recipe) -> Case | Message | None:
        """Make one case; a message says why a plain one cannot be made, None that another is left out.

        Raises `CannotBuild` when the runner cannot run the original's kernels.
        """
        if recipe in self._kept:
            return self._kept[recipe]
        made = self._make(recipe)
        size = made.bytes if isinstance(made, Case) else 0
        if self._kept_bytes + size <= _KEPT_BYTES:
            self._kept[recipe] = made
            self._kept_bytes += size
        return made

    def _make(self, recipe: Recipe) -> Case | Message | None:
        addition = (odd_shape_line(self.original.text) or "") if recipe.kind == "odd" else ""
        source = dataclasses.replace(self.original, text=self.original.text + addition)
        inputs = self._inputs(source, recipe)
        if isinstance(inputs, Broke):
            return self._refused(recipe, "no_inputs", inputs)
        baseline = self.runner.run(source, inputs, recipe.seed)
        if isinstance(baseline, NotBuilt):
            raise CannotBuild(baseline)
        if isinstance(baseline, Broke):
            return self._refused(recipe, "original_broke", baseline)
        first = self.case(Recipe(self.first_shape, SEEDS[0])) if recipe.kind == "noise" else None
        if not baseline.launches:
            return message("verify.original_launches_nothing")
        if not baseline.outputs.tensors() and not baseline.changed:
            return message("verify.original_leaves_nothing")
        reference = self._reference(source, inputs, baseline, recipe)
        return Case(recipe, addition, inputs, baseline, reference, first.baseline if isinstance(first, Case) else None)

    def _refused(self, recipe: Recipe, key: str, broke: Broke) -> Message | None:
        """A plain case that cannot be made leaves nothing to compare with; a further one is only not covered."""
        if recipe.kind == "plain":
            return message(f"verify.{key}", reason=broke.note)
        self._note("odd_refused" if recipe.kind == "odd" else "altered_refused", reason=broke.note)
        return None

    def _note(self, key: str, **values: object) -> None:
        """Keep one remark a key: the first says enough."""
        self.notes.setdefault(key, message(f"verify.{key}", **values))

    def _inputs(self, source: KernelSource, recipe: Recipe) -> Inputs | Broke:
        """Make the inputs: the file's own, or those of the first case with noise, NaN or infinity put in."""
        if recipe.kind in {"plain", "odd"}:
            return make_inputs(self.worker, source, self.target, recipe.seed, recipe.shape)
        first = self.case(Recipe(self.first_shape, SEEDS[0]))
        if not isinstance(first, Case):
            raise TypeError(f"{recipe.kind} inputs are made from a first case")
        given = first.inputs.given
        if recipe.kind == "noise":
            for number in first.baseline.changed:
                given = with_noise(given, given.tensors()[number], recipe.seed)
        else:
            for number in _spoilable(first):
                # Each tensor at places of its own: NaN that meets NaN shows nothing.
                given = with_injected(given, given.tensors()[number], recipe.kind, seed=number)
        return first.inputs.replaced(given)

    def _reference(self, source: KernelSource, inputs: Inputs, baseline: Ran, recipe: Recipe) -> Values | None:
        """Return the reference's answer on the file's own inputs, unless the original does not agree with it."""
        if not inputs.has_reference:
            self._note("no_reference")
        if recipe == Recipe(self.first_shape, SEEDS[0]) and inputs.shapes == 1:
            self._note("one_shape")
        if not inputs.has_reference or recipe.kind not in {"plain", "odd"}:
            return None
        answer = run_reference(self.worker, source, self.target, inputs, recipe.seed)
        if isinstance(answer, Broke):
            self._note("reference_broke", reason=answer.note)
            return None
        if len(answer.tensors()) != len(baseline.outputs.tensors()):
            self._note("other_reference")
            return None
        own = judge(baseline, Right(baseline, answer), inputs)
        if own.faults:
            self._note("original_off", fault=own.faults[0])
            return None
        return answer


def _spoilable(case: Case) -> list[int]:
    """Return the numbers of the float inputs that the original only reads."""
    views = enumerate(case.inputs.given.tensors())
    return [n for n, view in views if view.is_float and view.elements and n not in case.baseline.changed]


def _sample(shapes: list[int]) -> list[int]:
    """Return the shapes to run: all, or some with the first and the last among them."""
    if len(shapes) <= SHAPES_MOST:
        return shapes
    return [shapes[round(i * (len(shapes) - 1) / (SHAPES_MOST - 1))] for i in range(SHAPES_MOST)]
