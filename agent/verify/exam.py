"""What every candidate for one original has to go through: the cases, and what the original makes of each."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent.records import KernelSource
from agent.toolchain.client import Worker
from agent.toolchain.targets import Device
from agent.verify.floor import Needed, what_is_needed
from agent.verify.generated import Shape, Size, generate, read_shape, sizes_to_try
from agent.verify.judge import Right, judge, same_bits, same_contents
from agent.verify.layouts import is_plain, shareable, with_gaps, with_shared
from agent.verify.linalg import NotBuilt
from agent.verify.running import PLAINLY, Broke, How, Inputs, Ran, Runner, make_inputs, run_reference
from agent.verify.shapes import count_shapes, odd_shape_line, order_shapes, with_injected, with_noise
from agent.verify.values import Values
from indexer.messages import Message, message

# Beside the one that a candidate's own text gives.
SEEDS = (0, 1)
# More sizes than this are sampled: the first, the last, and some between.
SHAPES_MOST = 6
# Sizes of a kernel of which only types are known: each needs a run of the original to be found.
_SIZES_MOST = 3
# Cases are kept for the next candidate as long as they fit into this.
_KEPT_BYTES = 512 << 20

Kind = Literal["plain", "odd", "noise", "nan", "inf", "again", "gaps", "shared"]
# Cases whose inputs hold what the first case's hold: an original that gives something else does not take them.
_SAME_VALUES = frozenset({"again", "gaps"})


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
    original made of the same inputs without noise. `how` is how either host is run. `needed` is what a kernel has to
    move and compute, as far as that is known.
    """

    recipe: Recipe
    addition: str
    inputs: Inputs
    baseline: Ran
    reference: Values | None
    plain: Ran | None = None
    how: How = PLAINLY
    needed: Needed | None = None

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


def own_seed(candidate: KernelSource) -> int:
    """Return a seed that a candidate cannot know, for it changes with every letter of it; always the same for one."""
    return int.from_bytes(hashlib.sha256(candidate.text.encode(errors="replace")).digest()[:4], "big") >> 1


def first_recipe(shape: int) -> Recipe:
    """Return the case that all altered ones are made from."""
    return Recipe(shape, SEEDS[0])


class CannotBuild(Exception):
    """A kernel cannot be run by this runner; `outcome` says why."""

    def __init__(self, outcome: NotBuilt) -> None:
        self.outcome = outcome
        super().__init__(outcome.reason.key)


class Exam:
    """The cases of one original by one runner, made when they are asked for and kept for the next candidate."""

    def __init__(self, worker: Worker, target: Device, runner: Runner, original: KernelSource) -> None:
        self.worker, self.target, self.runner, self.original = worker, target, runner, original
        self.notes: dict[str, Message] = {}
        self.first_shape = order_shapes(original.text, count_shapes(original.text))[0]
        self._kept: dict[Recipe, Case | Message | None] = {}
        self._kept_bytes = 0
        self._unknown = read_shape(original)
        self._sizes: list[Size] | None = None

    def recipes(self, candidate: KernelSource) -> Iterator[Recipe]:
        """Yield the cases to make, the telling ones first; one has a seed that follows from the candidate's text."""
        first = first_recipe(self.first_shape)
        yield first
        case = self.case(first)
        if not isinstance(case, Case):
            return
        count = case.inputs.shapes
        shapes = [first.shape] if count == 1 else _sample(order_shapes(self.original.text, count))
        # Every seed on one shape, then another seed on each further shape: a kernel that is right by luck of the data,
        # or of the size, meets both.
        yield from (Recipe(first.shape, seed) for seed in (*SEEDS[1:], own_seed(candidate)))
        others = [shape for shape in shapes if shape != first.shape]
        yield from (Recipe(shape, SEEDS[number % len(SEEDS)]) for number, shape in enumerate(others, 1))
        if count == count_shapes(self.original.text) and odd_shape_line(self.original.text):
            yield Recipe(count, SEEDS[0], "odd")
        if case.baseline.changed:
            yield Recipe(self.first_shape, SEEDS[0], "noise")
        kinds: list[Kind] = ["nan", "inf"] if _spoilable(case) else []
        kinds += ["again"] if case.inputs.given.tensors() else []
        kinds += ["gaps"] if _spreadable(case) else []
        kinds += ["shared"] if shareable(case.inputs.given.tensors(), case.baseline.changed) else []
        yield from (Recipe(self.first_shape, SEEDS[0], kind) for kind in kinds)

    def telling_cases(self) -> list[Case]:
        """Return the cases that tell most in the fewest runs: the first one, and the odd size where there is one."""
        kept = [self._kept.get(first_recipe(self.first_shape))]
        kept += [case for recipe, case in self._kept.items() if recipe.kind == "odd"]
        return [case for case in kept if isinstance(case, Case)]

    def is_repeatable(self) -> bool:
        """Tell whether the original gives the same bits in a second call, and in a second process."""
        first, again = (self._kept.get(Recipe(self.first_shape, SEEDS[0], kind)) for kind in ("plain", "again"))
        return isinstance(first, Case) and isinstance(again, Case) and same_bits(first.baseline, again.baseline)

    def needed_as_captured(self) -> Needed | None:
        """Return what is needed for the sizes that a capture launches, which are the file's first."""
        found = [case for recipe, case in self._kept.items() if recipe.shape == 0 and recipe.kind == "plain"]
        return next((case.needed for case in found if isinstance(case, Case)), None)

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
        how = self._how(recipe)
        baseline = self.runner.run(source, inputs, recipe.seed, how)
        if isinstance(baseline, NotBuilt):
            raise CannotBuild(baseline)
        if isinstance(baseline, Broke):
            return self._refused(recipe, "original_broke", baseline)
        first = self.case(first_recipe(self.first_shape)) if recipe.kind not in {"plain", "odd"} else None
        if not baseline.launches:
            return message("verify.original_launches_nothing")
        if not baseline.outputs.tensors() and not baseline.changed:
            return message("verify.original_leaves_nothing")
        if recipe.kind in _SAME_VALUES and isinstance(first, Case) and not _agrees(baseline, first, inputs):
            self._leave_out(recipe)
            return None
        if recipe.kind == "shared" and isinstance(first, Case) and not _takes_shared(baseline, first):
            return None
        reference, needed = self._reference(source, inputs, baseline, recipe)
        plain = first.baseline if recipe.kind == "noise" and isinstance(first, Case) else None
        return Case(recipe, addition, inputs, baseline, reference, plain, how, needed)

    def _how(self, recipe: Recipe) -> How:
        """Return how the hosts are run: in one case after a call with other inputs, which they must not remember."""
        other = self.case(Recipe(self.first_shape, SEEDS[1])) if recipe.kind == "again" else None
        return How(before=other.inputs.given) if isinstance(other, Case) else PLAINLY

    def _refused(self, recipe: Recipe, key: str, broke: Broke) -> Message | None:
        """A plain case that cannot be made leaves nothing to compare with; a further one is only not covered."""
        if recipe.kind == "plain":
            return message(f"verify.{key}", reason=broke.note)
        if recipe.kind in _SAME_VALUES:
            self._leave_out(recipe)
        else:
            self.note("odd_refused" if recipe.kind == "odd" else "altered_refused", reason=broke.note)
        return None

    def _leave_out(self, recipe: Recipe) -> None:
        """Say that a second call was not compared; inputs with gaps are no part of what most kernels promise."""
        if recipe.kind == "again":
            self.note("again_left_out")

    def note(self, key: str, **values: object) -> None:
        """Keep one remark a key: the first says enough."""
        self.notes.setdefault(key, message(f"verify.{key}", **values))

    def _inputs(self, source: KernelSource, recipe: Recipe) -> Inputs | Broke:
        """Make the inputs: the file's own, or those of the first case with noise, NaN or infinity put in."""
        if recipe.kind in {"plain", "odd"}:
            if self._unknown is not None:
                return self._generated(self._unknown, recipe)
            return make_inputs(self.worker, source, self.target, recipe.seed, recipe.shape)
        first = self.case(first_recipe(self.first_shape))
        if not isinstance(first, Case):
            raise TypeError(f"{recipe.kind} inputs are made from a first case")
        return first.inputs.replaced(_altered(first, recipe))

    def _generated(self, shape: Shape, recipe: Recipe) -> Inputs | Broke:
        """Make inputs from types alone, of the sizes that the original was found to take."""
        try:
            if self._sizes is None:
                self._sizes = [size for size in sizes_to_try(shape) if self._takes(shape, size)][:_SIZES_MOST]
            if not self._sizes:
                return Broke(message("verify.no_size"))
            return generate(shape, self._sizes[recipe.shape], recipe.seed, len(self._sizes))
        except KeyError as error:
            return Broke(message("verify.no_type", type=error.args[0]))

    def _takes(self, shape: Shape, size: Size) -> bool:
        found = self.runner.run(self.original, generate(shape, size, SEEDS[0], 1), SEEDS[0])
        if isinstance(found, NotBuilt):
            raise CannotBuild(found)
        return isinstance(found, Ran) and not found.strays and bool(found.changed)

    def _reference(
        self, source: KernelSource, inputs: Inputs, baseline: Ran, recipe: Recipe
    ) -> tuple[Values | None, Needed | None]:
        """Return the reference's answer on the file's own inputs, unless the original does not agree with it."""
        if not inputs.has_reference:
            self.note("no_reference")
        if recipe == first_recipe(self.first_shape) and inputs.shapes == 1:
            self.note("one_shape")
        if recipe.kind not in {"plain", "odd"}:
            return None, None
        if not inputs.has_reference:
            return None, what_is_needed(inputs, baseline, None)
        answer = run_reference(self.worker, source, self.target, inputs, recipe.seed)
        if isinstance(answer, Broke):
            self.note("reference_broke", reason=answer.note)
            return None, what_is_needed(inputs, baseline, None)
        if len(answer.outputs.tensors()) != len(baseline.outputs.tensors()):
            self.note("other_reference")
            return None, what_is_needed(inputs, baseline, None)
        own = judge(baseline, Right(baseline, answer.outputs), inputs)
        if own.faults:
            self.note("original_off", fault=own.faults[0])
            return None, what_is_needed(inputs, baseline, None)
        return answer.outputs, what_is_needed(inputs, baseline, answer)


def _altered(first: Case, recipe: Recipe) -> Values:
    """Return the first case's inputs with noise, NaN or infinity put in, with gaps, or with one given for two."""
    given, changed = first.inputs.given, first.baseline.changed
    if recipe.kind == "noise":
        for number in changed:
            given = with_noise(given, given.tensors()[number], recipe.seed)
    elif recipe.kind == "gaps":
        for number in _spreadable(first):
            given = with_gaps(given, number)
    elif recipe.kind == "shared" and (pair := shareable(given.tensors(), changed)):
        given = with_shared(given, *pair)
    elif recipe.kind in {"nan", "inf"}:
        for number in _spoilable(first):
            # Each tensor at places of its own: NaN that meets NaN shows nothing.
            given = with_injected(given, given.tensors()[number], recipe.kind, seed=number)
    return given


def _agrees(baseline: Ran, first: Case, inputs: Inputs) -> bool:
    """Tell whether the original makes of these inputs what it made of the first case's, which hold the same values."""
    return not judge(baseline, Right(first.baseline), inputs).faults


def _takes_shared(baseline: Ran, first: Case) -> bool:
    """Tell whether an input may be the output too: the original then leaves there what it leaves without."""
    pair = shareable(first.inputs.given.tensors(), first.baseline.changed)
    if pair is None or pair[1] not in first.baseline.changed:
        return pair is not None
    new = baseline.changed.get(pair[1])
    return new is not None and same_contents(new, first.baseline.changed[pair[1]])


def _spreadable(case: Case) -> list[int]:
    """Return the numbers of the inputs that the original only reads and that could lie apart in memory."""
    views = case.inputs.given.tensors()
    return [n for n, view in enumerate(views) if is_plain(view) and n not in case.baseline.changed]


def _spoilable(case: Case) -> list[int]:
    """Return the numbers of the float inputs that the original only reads."""
    views = enumerate(case.inputs.given.tensors())
    return [n for n, view in views if view.is_float and view.elements and n not in case.baseline.changed]


def _sample(shapes: list[int]) -> list[int]:
    """Return the shapes to run: all, or some with the first and the last among them."""
    if len(shapes) <= SHAPES_MOST:
        return shapes
    return [shapes[round(i * (len(shapes) - 1) / (SHAPES_MOST - 1))] for i in range(SHAPES_MOST)]
