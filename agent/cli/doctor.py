"""`tritonkb doctor`: what works here."""

from __future__ import annotations

from agent.cli.options import Session


def doctor(session: Session) -> int:
    """Check this machine; exit 4, 6 or 3 when something essential is missing."""
    from agent.toolchain.doctor import Surroundings, examine, worst_exit_code  # noqa: PLC0415 - not for --help

    checks = examine(Surroundings(session.settings.store, session.settings.embedder))
    text = session.output.text
    rows = [{"name": c.name, "ok": c.ok, "detail": text(c.detail), "fix": c.fix or None} for c in checks]
    lines = []
    for check in checks:
        mark = "ok  " if check.ok else "MISS" if check.exit_code else "--  "
        lines.append(f"{mark} {check.name:<10} {text(check.detail)}")
        if check.fix and not check.ok:
            lines.append(f"                $ {check.fix}")
    session.output.answer({"checks": rows}, lambda console: console.print("\n".join(lines), soft_wrap=True))
    return worst_exit_code(checks)
