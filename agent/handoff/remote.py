"""A bundle on another machine over SSH: sent as a tar stream, run there, its results fetched; host keys are checked."""

from __future__ import annotations

import re
import shlex
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent.measure.plan import RESULTS
from indexer.errors import BadInput, ToolchainError

_ADDRESS = re.compile(r"^ssh://(?P<host>[\w.@-]+)(:(?P<port>\d+))?(/(?P<python>.*))?$")
# Seconds beyond the bundle's own time for its last jobs and the connection.
_BEYOND_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Remote:
    """`ssh://[user@]host[:port][/python]`: where to go, and which Python there has torch and triton.

    `config` is a configuration of ssh to use in the place of the user's own.
    """

    host: str
    port: str
    python: str
    config: Path | None = None

    def run(self, folder: Path, plan: str, seconds: float) -> None:
        """Run the bundle there and put its results into `folder`; what was measured there before is kept."""
        place = f".cache/tritonkb/bundles/{plan[:16]}"
        with tempfile.TemporaryFile() as packed:
            with tarfile.open(fileobj=packed, mode="w:gz") as archive:
                archive.add(folder, arcname=".", filter=_plain)
            packed.seek(0)
            self._ssh(f"mkdir -p {place} && tar -xzf - -C {place}", 600.0, packed.read())
        command = f"cd {place} && {shlex.quote(self.python)} run.py --seconds {seconds:g} >&2 && cat {RESULTS}"
        told = self._ssh(command, seconds + _BEYOND_SECONDS)
        (folder / RESULTS).write_bytes(told)

    def _ssh(self, command: str, seconds: float, given: bytes = b"") -> bytes:
        """Run one command there. Never asks: an unknown host key or a missing login is an error with the way out."""
        options = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
        options += ["-F", str(self.config)] if self.config is not None else []
        port = ["-p", self.port] if self.port else []
        try:
            ended = subprocess.run(
                ["ssh", *options, *port, "--", self.host, command], input=given, capture_output=True,
                timeout=seconds, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise ToolchainError("handoff.no_ssh") from error
        except subprocess.TimeoutExpired as error:
            raise ToolchainError("handoff.remote_slow", host=self.host, seconds=f"{seconds:.0f}") from error
        if ended.returncode:
            said = ended.stderr.decode(errors="replace").strip().splitlines()[-3:]
            raise ToolchainError("handoff.remote_failed", host=self.host, reason=" / ".join(said))
        return ended.stdout


def read_remote(address: str) -> Remote:
    """Read an address; raises `BadInput` for one of another form."""
    found = _ADDRESS.match(address)
    if found is None or found["host"].startswith("-"):
        raise BadInput("handoff.bad_device", value=address)
    python = f"/{found['python']}" if found["python"] else "python3"
    return Remote(found["host"], found["port"] or "", python)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Send files and folders, and no results: those of the machine are newer."""
    wanted = (entry.isfile() or entry.isdir()) and not entry.name.endswith((RESULTS, ".pyc"))
    return entry if wanted else None
