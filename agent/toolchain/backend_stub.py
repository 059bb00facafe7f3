"""The stand-in for the closed back end (`hivmc`), which turns the last module into an object file.

Without it the compilers fail after all of their own passes, and the one for 950 even tries five times
(AscendNPU-IR@f9d978b1:bishengir/lib/Tools/bishengir-compile/BiShengIRCompileMain.cpp:305-380). With it they exit 0
exactly when the kernel compiles, and the module is copied to where they work: ascendnpu-ir 1.1.0 has no `--save-temps`.
"""

from __future__ import annotations

import os
from pathlib import Path

# The program's name, three numbers, a commit and a date, as its version is parsed
# (AscendNPU-IR@8796a8ac:bishengir/lib/Tools/Utils/Utils.cpp).
_VERSION = "hivmc 0.2.0 (0000000 2026-07-29)"
_SCRIPT = f"""#!/bin/sh
for argument in "$@"; do
  if [ "$argument" = --version ]; then echo "{_VERSION}"; exit 0; fi
done
case "$1" in *.mlir) cp "$1" . || exit ;; esac
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then : > "$2"; exit; fi
  shift
done
"""
_NAMES = ("hivmc", "hivmc-a5")
# Searched before PATH for the back end (AscendNPU-IR@8796a8ac:bishengir/lib/Tools/Utils/Utils.cpp:169).
_INSTALL_VARIABLE = "BISHENG_INSTALL_PATH"


def write_stub(folder: Path) -> dict[str, str]:
    """Write the scripts into `folder`; return this process's environment with them first on PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _NAMES:
        script = folder / name
        script.write_text(_SCRIPT, encoding="utf-8")
        script.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if name != _INSTALL_VARIABLE}
    return {**inherited, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "LC_ALL": "C"}
