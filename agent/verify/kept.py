"""What checking built, kept on disk from one run to the next, by all that decides what it is.

A library is a candidate's code: it is kept as bytes, and runs nowhere but in the sandbox. What is read back is what was
written, or nothing: an entry begins with the hash of its content, and comes into being by a rename.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Some thousand libraries of 15 to 30 KiB; the examples' three runs leave 27.
LIMIT_BYTES = 128 << 20
_HASH_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of entries by name; at most `limit_bytes` of them stay, those used last.

    A folder that cannot be written keeps nothing, and costs nothing but the time of building again.
    """

    folder: Path
    limit_bytes: int = LIMIT_BYTES

    def read(self, name: str) -> bytes | None:
        """Return what was kept under `name`, None for nothing or something damaged."""
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[_HASH_BYTES:]).digest() != content[:_HASH_BYTES]:
            return None
        with contextlib.suppress(OSError):  # a folder of someone else's is read all the same
            os.utime(path)
        return content[_HASH_BYTES:]

    def keep(self, name: str, content: bytes) -> None:
        """Keep an entry, and drop those that were not used for longest when there are too many."""
        with contextlib.suppress(OSError):  # a full or read-only disk: nothing is kept
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                fresh = Path(scratch, name)
                fresh.write_bytes(hashlib.sha256(content).digest() + content)
                fresh.replace(self.folder / name)
            self._shrink()

    def _shrink(self) -> None:
        entries = sorted(self._entries(), reverse=True)
        size = 0
        for _, entry_bytes, path in entries:
            size += entry_bytes
            if size > self.limit_bytes:
                path.unlink(missing_ok=True)

    def _entries(self) -> Iterator[tuple[int, int, Path]]:
        """Yield time of last use, size and path of each entry; another process may be dropping some."""
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                state = path.stat()
                if path.is_file():
                    yield state.st_mtime_ns, state.st_size, path
