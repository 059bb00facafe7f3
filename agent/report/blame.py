"""`tritonkb blame` for people: the kernel with what each line became, and one line pass by pass."""

from __future__ import annotations

from agent.contract import BlameDoc, BlameLineDoc, LineStepDoc
from agent.report.terminal import Terminal, figure, percent
from indexer.messages import message, render

_SPACES = {"ub": "UB", "cbuf": "L1", "cc": "L0C"}
_DIFF_STYLES = {"+": "green", "-": "red", " ": "dim"}
_KIB = 1024
# Width of the share and bytes columns, which stand before the line's number.
_MARGIN = 19
_INDENT = _MARGIN + 7
# Operations that compute where data is and move none of it.
_ADDRESSING = ("affine.", "arith.", "func.", "memref.cast", "memref.reinterpret_cast", "memref.subview")


def show_blame(terminal: Terminal, doc: BlameDoc) -> None:
    """Show the kernel; lines and operations that no pass made anything of are quiet."""
    terminal.line(f"{doc.kernel} @ {doc.target}", style="bold")
    if doc.launch is not None:
        terminal.show_launch(doc.launch)
    terminal.line(figure(doc.cost, terminal.lang))
    terminal.say("blame_columns", style="dim")
    _listing(terminal, doc)
    if doc.steps:
        terminal.line("")
        terminal.say("walk", style="bold", count=len(doc.steps))
    for step in doc.steps:
        _step(terminal, step)
    terminal.line("")
    terminal.resolution(doc)


def _listing(terminal: Terminal, doc: BlameDoc) -> None:
    blamed = {line.line: line for line in doc.lines}
    asked = bool(doc.steps) or len(blamed) == 1  # a line that was asked for stands alone, with all its operations
    texts = {line.line: line.text for line in doc.source if not asked or line.line in blamed}
    for number in sorted({*texts, *blamed}):
        found = blamed.get(number)
        text = texts.get(number) or (found.text if found is not None else "")
        if found is None:
            terminal.line(f"{'':{_MARGIN}}{number:>5}  {text}".rstrip(), style="dim")
        else:
            terminal.line(f"{_margin(found)}{number:>5}  {text}", style="bold")
            _operations(terminal, found, every=asked)


def _margin(line: BlameLineDoc) -> str:
    share = "" if line.share is None else percent(line.share)
    return f"{share:>6}  {_size(line.bytes or 0):>{_MARGIN - 8}}"


def _operations(terminal: Terminal, line: BlameLineDoc, *, every: bool) -> None:
    """Show the operations of a line; without `every`, those that only compute addresses share one quiet row."""
    loud = [op for op in line.ops if every or not op.name.startswith(_ADDRESSING)]
    rows = [(f"{op.count} x", op.name, op.pass_argument or "-", ", ".join(op.replaced)) for op in loud]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, name, made_by, replaced in rows:
        cells = f"{number:<{widths[0]}}  {name:<{widths[1]}}  {made_by:<{widths[2]}}"
        shown = f"{cells}  <- {replaced}" if replaced else cells
        terminal.line(shown.rstrip(), style="dim" if made_by == "-" else "", indent=_INDENT)
    quiet = [f"{op.count} x {op.name}" for op in line.ops if op not in loud]
    if quiet:
        terminal.say("blame_quiet", style="dim", indent=_INDENT, what=", ".join(quiet))
    held = [f"{_SPACES.get(space, space)} {_size(size)}" for space, size in line.buffer_bytes.items()]
    if held:
        terminal.say("blame_held", indent=_INDENT, what=", ".join(held))
    for cited in line.evidence:
        terminal.line(f"{cited.passage}  {cited.title}", style="dim", indent=_INDENT)


def _step(terminal: Terminal, step: LineStepDoc) -> None:
    name = step.pass_argument or render(message("report.walk_source"), terminal.lang)
    change = ", ".join(step.made) or "-"
    if step.replaced:
        change = f"{', '.join(step.replaced)} -> {change}"
    terminal.line("")
    terminal.line(f"{step.position:>5}  {name}: {change}", style="bold")
    for text in step.diff:
        terminal.console.print(f"       {text}", style=_DIFF_STYLES[text[0]], soft_wrap=True)


def _size(size: int) -> str:
    """Write a number of bytes, "" for none."""
    if size < 10 * _KIB:
        return f"{size:,} B" if size else ""
    return f"{size / _KIB:,.0f} KiB"
