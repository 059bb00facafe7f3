from __future__ import annotations

import io

from rich.console import Console

from agent.documents import cost_doc
from agent.perf.predict import predict
from agent.perf.trace import trace_launch
from agent.report.profile import show_lines
from agent.report.terminal import Terminal
from agent.toolchain.targets import find_target
from tests.agent.perf.programs import compilation, launch
from tests.agent.perf.test_predict import masked_loop

TARGET = find_target("ascend910b4")


def test_a_trace_names_its_pipes_and_no_pipe_does_two_things_at_once() -> None:
    trace = trace_launch(compilation(masked_loop(64), launch(4, x=(5000,), n=5000)), TARGET)
    assert trace["otherData"]["basis"] == "predicted"
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert "MTE2" in named.values()
    for thread in named:
        spans = [e for e in trace["traceEvents"] if e["ph"] == "X" and (e["pid"], e["tid"]) == thread]
        assert spans
        spans.sort(key=lambda span: span["ts"])
        ends = [span["ts"] + span["dur"] for span in spans]
        assert all(span["ts"] >= end - 1e-9 for span, end in zip(spans[1:], ends, strict=False))


def test_lines_are_shown_as_bars_beside_their_text() -> None:
    cost = cost_doc(predict(compilation(masked_loop(64), launch(4, x=(5000,), n=5000)), TARGET), "en")
    assert cost is not None
    out = io.StringIO()
    show_lines(Terminal(Console(file=out, width=200), "en"), cost, {5: "x = tl.load(x_ptr)"})
    (line,) = [row for row in out.getvalue().splitlines() if "tl.load" in row]
    assert line.split()[0] == "5"
    assert "█" * 30 in line
