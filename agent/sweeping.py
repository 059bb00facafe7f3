"""Configurations of one kernel explored by prediction: values of constexprs, pruned where the plan of UB refuses."""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.edit_names import with_names
from agent.records import Cost, KernelSource, Lowering
from agent.workbench import Workbench
from indexer.errors import BadInput

Config = Mapping[str, object]
MOST = 256  # configurations of one sweep; each is a compilation
# Predictions this close are no order: only a measurement can choose among them.
CLOSE = 0.10


@dataclass(frozen=True, slots=True)
class Tried:
    """One configuration: costed, rejected with the compiler's words, or pruned as no smaller than one that overflows.

    `measure` marks those that a measurement would have to choose among.
    """

    config: Config
    status: Literal["ok", "rejected", "pruned"]
    cost: Cost | None = None
    note: str = ""
    measure: bool = False


def read_axes(texts: Sequence[str]) -> list[Config]:
    """Read `BLOCK=64,128` and so on into all combinations; raises `BadInput` for other text, or too many."""
    axes: dict[str, list[object]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        parts = [part for part in values.split(",") if part]
        if not sign or not name.isidentifier() or not parts:
            raise BadInput("sweep.bad_axis", value=text)
        axes[name] = [_value(part) for part in parts]
    configs: list[Config] = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    if len(configs) > MOST:
        raise BadInput("sweep.too_many", count=len(configs), most=MOST)
    return configs


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def sweep(bench: Workbench, source: KernelSource, configs: Sequence[Config]) -> list[Tried]:
    """Cost each configuration; raises `BadInput` when the file does not take one of the names."""
    tried = list(_try_all(bench, source, configs))
    costs = [item.cost.value for item in tried if item.cost is not None]
    if not costs:
        return tried
    limit = min(costs) * (1 + CLOSE)
    return [
        dataclasses.replace(item, measure=item.cost is not None and item.cost.value <= limit) for item in tried
    ]  # fmt: skip


def _try_all(bench: Workbench, source: KernelSource, configs: Sequence[Config]) -> Iterator[Tried]:
    too_large: list[Config] = []
    for config in configs:
        smaller = next((c for c in too_large if _is_no_smaller(config, c)), None)
        if smaller is not None:
            yield Tried(config, "pruned", note=_shown(smaller))
            continue
        lowering = bench.lower(_with_config(source, config))
        chosen = [item for item in lowering.launches if has_values(item.launch.constexprs, config)]
        if not chosen:
            raise BadInput("sweep.not_taken", path=source.path, config=_shown(config))
        if _overflows(lowering):
            too_large.append(config)
        costs = [item.cost for item in chosen if item.cost is not None]
        if costs:
            yield Tried(
                config, "ok", min(costs, key=lambda cost: cost.value) if chosen[0].launch.group else lowering.cost
            )
        else:
            said = [d.message for d in chosen[0].compilation.diagnostics if d.severity == "error"]
            yield Tried(config, "rejected", note=said[0] if said else "")


def _with_config(source: KernelSource, config: Config) -> KernelSource:
    entry = dataclasses.replace(source.entry, constexprs={**source.entry.constexprs, **config})
    return dataclasses.replace(
        source, text=with_names(source.text, config), entry=entry if source.entry.signature else source.entry
    )


def has_values(known: Mapping[str, object], config: Config) -> bool:
    """Tell whether a launch was made with these constexprs."""
    return all(name in known and known[name] == value for name, value in config.items())


def _is_no_smaller(config: Config, other: Config) -> bool:
    pairs = [(config[name], other[name]) for name in other]
    return all(a == b or (isinstance(a, int) and isinstance(b, int) and a >= b) for a, b in pairs)


def _overflows(lowering: Lowering) -> bool:
    limits = [item.compilation.resources for item in lowering.launches]
    return any(r.ub_bytes is not None and r.ub_bytes > r.ub_limit_bytes for r in limits)


def _shown(config: Config) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.items())
