"""Count by comparing with all bins at once: a histogram is a scalar loop that copies the bins for each element."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, call_of, given, named, rephrase
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# A comparison takes about 15 bytes of UB an element and bin (117 KiB at 256 elements and 32 bins); UB has 192 KiB.
MOST_COMPARED = 12 * 1024


def compared_bins(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.histogram(x, bins)` of a small tile into a sum of comparisons; exact where each value has a bin."""
    return rephrase("compared_bins", subject, structure, _change, message("rewrite.compared_bins_precondition"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    call = call_of(node, scope, "histogram")
    tile, bins = (given(call, "input", 0), given(call, "num_bins", 1)) if call is not None else (None, None)
    if call is None or tile is None or bins is None or len(call.args) != 2:
        return None
    value, count = evaluate(tile, scope), evaluate(bins, scope)
    most = count.poly.known if isinstance(count, Number) else None
    size = value.shape[0].known if value.shape is not None and len(value.shape) == 1 else None
    if most is None or size is None or size * most > MOST_COMPARED:
        return None
    file, tl, lines = scope.file, scope.file.language, list[str]()
    level, hits = named(tile, "level", file, lines), file.fresh("hits")
    lines.append(f"{hits} = {level}[:, None] == {tl}.arange(0, {file.text(bins)})[None, :]")
    return Spelled(f"{tl}.sum({hits}.to({tl}.float32), 0).to({tl}.int32)", tuple(lines))
