"""Write docs/results-cuda.md from the results of bundles: `python bench/cuda_results.py bench/results/h200-*.json`.

A results file is what `tritonkb bundle take DIR --json` prints. Of a kernel in several files the last one counts, with
all of its numbers: a row never mixes calls.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

from agent.handoff.documents import MeasuredDoc, MeasuredKernelDoc, TimeDoc

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "results-cuda.md"
YARDSTICKS = ("compiled", "library", "expert")
# Below this a gain is not more than how far times repeat, or next to it.
LITTLE = 1.10
# What keeps kernels with little gain, from their sizes: bytes that must be moved over the time of the first form. A
# copy through PyTorch moved 4.3 TB/s on such a card, reads and writes counted.
REASONS = {
    "adamw": "the first form moves its 470 MB at 4.2 TB/s: the card's bandwidth",
    "argmax_rows": "the first form reads its 268 MB at 4.3 TB/s: the card's bandwidth",
    "bias_residual": "the first form moves its 403 MB at 4.1 TB/s: next to the card's bandwidth",
    "max_pool2d": "the first form moves its 336 MB at 3.9 TB/s: next to the card's bandwidth",
    "running_max": "the first form moves its 268 MB at 4.2 TB/s: the card's bandwidth",
    "sgd_momentum": "the first form moves its 671 MB at 4.0 TB/s: next to the card's bandwidth",
    "softmax_causal": "the first form moves 268 MB at 3.6 TB/s; not to load what the mask hides needs another mask, "
    "for which there is no rule (the expert's form has it)",
    "unpack_int4": "each half of a byte is stored with stride 2; joining both into one store needs another form, for "
    "which there is no rule",
}
CAUTION = """\
How to take these numbers:

- The suite is ours, and the rules that made the forms were written with its kernels in view: on kernels of others
  expect less. The mean says how much a first version leaves, and how much of that rules reach.
- Gains of tens of times are from first versions that give a program one number, or a few, at a time
  (`linear_recurrence`, `gather_columns`, `dequantize_blocks`). For `linear_recurrence` torch.compile and PyTorch have
  no better way than a step at a time either.
- Ten kernels have an expert's form in `bench/suite/expert`; for the others PyTorch's own call is the yardstick."""
METHOD = """\
`tritonkb bundle make bench/suite/*.py --experts bench/suite/expert --target cuda:90 --twice 24` writes the candidates:
forms of the source made by rules (programs batched, a row at once, grouped order, stages a loop, tl.dot for a sum,
tf32x3 for ieee, a scale after the loop), each under a bounded set of blocks, `num_warps` and `num_stages`. On the
device, `run.py`:

- leaves out tiles that no launch should have, compiles at most 48 candidates a kernel, times all of them a little, the
  better third again, the best of these again; wrong ones drop out in between;
- times the initial form, the best one and the yardsticks in fresh processes, one at a time on the device;
- checks the initial and the best form before timing: every shape, three seeds (two on the size that is timed), memory
  from `torch.empty` poisoned, against the reference in float64; relative tolerance 1e-4 for fp32, 1e-2 for fp16, 2e-2
  for bf16. tf32 is outside that of fp32: no product of fp32 was relaxed to it;
- takes one run as the replay of a CUDA graph between two events, after the L2 cache was filled with clean lines of
  another buffer; a group lasts about 40 ms; the medians of two groups in a row must agree within 3 %, or more groups
  are taken; the value is the median of both. torch.compile and PyTorch run the reference in the same way, with the
  types of the inputs."""


def main() -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=DOCUMENT)
    options = parser.parse_args()
    docs = [MeasuredDoc.model_validate_json(path.read_text(encoding="utf-8")) for path in options.results]
    options.out.write_text(write_document(docs), encoding="utf-8")


def write_document(docs: list[MeasuredDoc]) -> str:
    """Return the whole document."""
    rows = {k.kernel: (number, k) for number, doc in enumerate(docs, 1) for k in doc.kernels if k.initial is not None}
    kernels = [k for _, k in sorted(rows.values(), key=lambda row: row[1].kernel)]
    written = "Written by `python bench/cuda_results.py bench/results/h200-*.json`; basis of every number: measured."
    parts = ["# Measured on CUDA", "", written, "", *_setting(docs), ""]
    parts += ["## Result", "", *_totals(kernels, docs), "", CAUTION, ""]
    parts += ["## Every kernel", "", *_table(rows), ""]
    parts += ["## Kernels with little or no gain", "", *_little(kernels), ""]
    parts += ["## How it is measured", "", METHOD, ""]
    return "\n".join(parts)


def _setting(docs: list[MeasuredDoc]) -> Iterable[str]:
    for number, doc in enumerate(docs, 1):
        machine, state = doc.machine, doc.state
        measured = [k for k in doc.kernels if k.initial is not None]
        yield (
            f"- Call {number}, {doc.measured_at}: {machine['device']} ({machine['multiprocessors']} multiprocessors, "
            f"{int(str(machine['l2_bytes'])) >> 20} MiB L2), driver {state['driver_version']}, "
            f"torch {machine['torch']}, triton {machine['triton']}, CUDA {machine['runtime']}; "
            f"clocks after the last job {state['clocks.sm']} (cores), {state['clocks.mem']} (memory), "
            f"reasons to throttle {state['clocks_event_reasons.active']}; "
            f"{len(measured)} of {len(doc.kernels)} kernels within its time."
        )
    if len(docs) > 1:
        yield (
            "- The later call has the kernel that the first had no time for, and those for which forms had been added "
            "since (loops with stages of their own in batched programs, a scale after the loop); its rows replace "
            "the earlier ones, whether better or not."
        )


def _totals(kernels: list[MeasuredKernelDoc], docs: list[MeasuredDoc]) -> Iterable[str]:
    gains = [k.speedup for k in kernels if k.speedup is not None]
    yield "| what | value | kernels |"
    yield "|---|---|---|"
    yield f"| geometric mean over the initial kernels | {_mean(gains):.2f}x | {len(gains)} |"
    yield f"| median over the initial kernels | {statistics.median(gains):.2f}x | {len(gains)} |"
    most = sorted(gains)[:-3]
    yield f"| the same without the three largest gains | {_mean(most):.2f}x | {len(most)} |"
    for above in (2, 5):
        yield f"| share above {above}x | {100 * sum(g > above for g in gains) / len(gains):.0f} % | {len(gains)} |"
    for name, said in (("compiled", "torch.compile"), ("library", "PyTorch as it is"), ("expert", "the expert's form")):
        ratios = _ratios(kernels, lambda k, name=name: getattr(k, name))  # type: ignore[misc]
        yield f"| best form against {said} (above 1: ours is faster) | {_mean(ratios):.2f}x | {len(ratios)} |"
    nearest = _ratios(kernels, _nearest)
    yield f"| best form against the fastest of the three | {_mean(nearest):.2f}x | {len(nearest)} |"
    twice = [abs(k.again.us / k.initial.us - 1) for doc in docs for k in doc.kernels if k.again and k.initial]
    yield (
        f"| same kernel timed in two processes: median difference | {100 * statistics.median(twice):.2f} % "
        f"(largest {100 * max(twice):.1f} %) | {len(twice)} |"
    )


def _table(rows: dict[str, tuple[int, MeasuredKernelDoc]]) -> Iterable[str]:
    yield "Microseconds, medians; the spread is half the distance of the quartiles of the best form. `call` says"
    yield "which of the calls a row is from: all numbers of a row are from one."
    yield ""
    yield "| kernel | initial | best | spread | gain | torch.compile | PyTorch | expert | best form | call |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---|---|"
    for number, kernel in sorted(rows.values(), key=lambda row: row[1].kernel):
        own = kernel.best_time or kernel.initial
        spread = "-" if own is None else f"±{50 * own.spread:.1f} %"
        others = " | ".join(_us(getattr(kernel, name)) for name in YARDSTICKS)
        yield (
            f"| {kernel.kernel} | {_us(kernel.initial)} | {_us(kernel.best_time)} | {spread} | {kernel.speedup:.2f} | "
            f"{others} | {kernel.best_note or 'the initial one'} | {number} |"
        )


def _little(kernels: list[MeasuredKernelDoc]) -> Iterable[str]:
    for kernel in kernels:
        if (kernel.speedup or 0.0) < LITTLE:
            reason = REASONS.get(kernel.kernel) or kernel.reason or "no rule reaches what keeps it"
            yield f"- `{kernel.kernel}` ({kernel.speedup:.2f}x, {kernel.tried} candidates timed): {reason}."
    behind = [(k, o) for k in kernels if (o := _nearest(k)) is not None and o.us < 0.8 * (k.best_time or o).us]
    if behind:
        names = ", ".join(f"`{k.kernel}` ({o.us:.0f} us)" for k, o in behind)
        yield f"- More than a fifth behind the fastest yardstick, whatever was gained: {names}."


def _nearest(kernel: MeasuredKernelDoc) -> TimeDoc | None:
    times = [time for name in YARDSTICKS if (time := getattr(kernel, name)) is not None]
    return min(times, key=lambda time: time.us, default=None)


def _ratios(kernels: list[MeasuredKernelDoc], other: Callable[[MeasuredKernelDoc], TimeDoc | None]) -> list[float]:
    pairs = [(k.best_time or k.initial, other(k)) for k in kernels]
    return [theirs.us / own.us for own, theirs in pairs if own is not None and theirs is not None]


def _mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _us(time: TimeDoc | None) -> str:
    return "-" if time is None else f"{time.us:.1f}"


if __name__ == "__main__":
    main()
