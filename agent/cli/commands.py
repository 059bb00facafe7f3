"""The commands, each one line here and one module in this folder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command as typed, and `module:function` that does it, imported only when it is called.

    `summary` is the catalogue key of its help. `shared` names the options of `agent/cli/options.py` that it takes
    besides those of every command.
    """

    name: str
    function: str
    summary: str
    shared: tuple[str, ...] = ()


# Groups of commands, and the catalogue key of their help.
GROUPS = {
    "bundle": "handoff.group",
    "eval": "eval.group",
    "index": "knowledge.group",
    "toolchain": "toolchain.group",
}

# What every command takes that lowers a kernel.
COMPILING = ("target", "toolchain_python", "host_seconds", "unsafe_no_sandbox")

COMMANDS = (
    Command("doctor", "agent.cli.doctor:doctor", "doctor.summary", ("toolchain_python", "embedder")),
    Command("index build", "agent.cli.index:build", "knowledge.build_summary", ("embedder", "toolchain_python")),
    Command("index update", "agent.cli.index:update", "knowledge.update_summary", ("embedder", "toolchain_python")),
    Command("index status", "agent.cli.index:status", "knowledge.status_summary", ("toolchain_python",)),
    Command("index diff", "agent.cli.index_diff:diff", "difference.summary"),
    Command("index corpora", "agent.cli.index:corpora", "knowledge.corpora_summary"),
    Command("search", "agent.cli.search:search", "search.summary"),
    Command("ask", "agent.cli.ask:ask", "ask.summary", ("model",)),
    Command("compile", "agent.cli.compile:compile_file", "kernel.compile_summary", COMPILING),
    Command("blame", "agent.cli.blame:blame", "kernel.blame_summary", COMPILING),
    Command("diagnose", "agent.cli.diagnose:diagnose", "kernel.diagnose_summary", COMPILING),
    Command("optimize", "agent.cli.optimize:optimize", "kernel.optimize_summary", (*COMPILING, "model")),
    Command("bench", "agent.cli.bench:bench", "kernel.bench_summary", COMPILING),
    Command("report", "agent.cli.report:report", "html.command_summary"),
    Command("bundle make", "agent.cli.bundle:make", "handoff.make_summary", COMPILING),
    Command("bundle take", "agent.cli.bundle:take", "handoff.take_summary"),
    Command("eval retrieval", "agent.cli.eval:retrieval", "eval.retrieval_summary"),
    Command(
        "eval attribution",
        "agent.cli.eval:attribution",
        "eval.attribution_summary",
        ("toolchain_python", "unsafe_no_sandbox"),
    ),
    Command(
        "eval cost",
        "agent.cli.eval_cost:cost",
        "eval.cost_summary",
        ("target", "toolchain_python", "host_seconds", "unsafe_no_sandbox"),
    ),
    Command("mcp", "agent.cli.mcp:mcp", "mcp.summary", COMPILING),
    Command("toolchain install", "agent.cli.toolchain:install", "toolchain.install_summary"),
    Command("toolchain list", "agent.cli.toolchain:show", "toolchain.list_summary", ("toolchain_python",)),
    Command("toolchain remove", "agent.cli.toolchain:remove", "toolchain.remove_summary"),
)
