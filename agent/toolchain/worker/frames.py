"""The wire between tritonkb and its worker: length-prefixed frames of one JSON header and raw binary blobs.

Both ends use this module. Whoever sits at the other end may be hostile: sizes are checked before anything is read, and
every wait has a deadline.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import struct
import time
from collections.abc import Sequence
from typing import Any

# Magic, bytes of header, bytes of all blobs.
_PREFIX = struct.Struct(">4sIQ")
_MAGIC = b"tkb1"
HEADER_LIMIT_BYTES = 64 << 20
FRAME_LIMIT_BYTES = 1 << 30
_CHUNK_BYTES = 1 << 20
# fcntl(2), linux/fcntl.h; the fcntl module has the name from Python 3.10 on, for Linux only.
_F_SETPIPE_SZ = 1031


class FrameError(Exception):
    """The other end sent something that is not a frame, or one that is too large."""


class Closed(FrameError):
    """The other end closed the pipe; nothing was lost when it did so between frames."""


class Late(FrameError):
    """The deadline passed before the frame was complete."""


def widen(fd: int) -> None:
    """Make a pipe's writing end fast: room for 1 MiB (the kernel may refuse: then less), and writes never block."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, _F_SETPIPE_SZ, _CHUNK_BYTES)
    os.set_blocking(fd, False)


def write_frame(fd: int, header: dict[str, Any], blobs: Sequence[bytes] = (), deadline: float | None = None) -> None:
    """Write one frame; `deadline` is a `time.monotonic` value. The blobs' sizes travel in the header."""
    sized = {**header, "blob_bytes": [len(blob) for blob in blobs]}
    text = json.dumps(sized, allow_nan=True).encode()
    total = sum(len(blob) for blob in blobs)
    if len(text) > HEADER_LIMIT_BYTES or total > FRAME_LIMIT_BYTES:
        raise FrameError(f"a frame of {len(text)} + {total} bytes is over the limit")
    _write_all(fd, _PREFIX.pack(_MAGIC, len(text), total) + text, deadline)
    for blob in blobs:
        _write_all(fd, blob, deadline)


def read_frame(
    fd: int, deadline: float | None = None, limit_bytes: int = FRAME_LIMIT_BYTES
) -> tuple[dict[str, Any], list[bytes]]:
    """Read one frame; raises `Closed`, `Late` or `FrameError`."""
    magic, header_bytes, blob_bytes = _PREFIX.unpack(_read_exactly(fd, _PREFIX.size, deadline))
    if magic != _MAGIC or header_bytes > HEADER_LIMIT_BYTES or blob_bytes > limit_bytes:
        raise FrameError("not a frame, or too large")
    header = _parse_header(_read_exactly(fd, header_bytes, deadline))
    sizes = header.get("blob_bytes")
    if not isinstance(sizes, list) or not all(isinstance(n, int) and n >= 0 for n in sizes) or sum(sizes) != blob_bytes:
        raise FrameError("the sizes of the blobs do not add up")
    return header, [_read_exactly(fd, size, deadline) for size in sizes]


def _parse_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError("the header is not JSON, or nested too deep") from error
    if not isinstance(header, dict):
        raise FrameError("the header is not an object")
    return header


def _wait(fd: int, event: int, deadline: float | None) -> None:
    poll = select.poll()
    poll.register(fd, event)
    left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
    if not poll.poll(left):
        raise Late("the deadline passed")


def _read_exactly(fd: int, size: int, deadline: float | None) -> bytes:
    """Read `size` bytes; no copy of them but the returned one stays in this process's memory."""
    parts = bytearray(min(size, _CHUNK_BYTES))
    done = 0
    while done < size:
        _wait(fd, select.POLLIN, deadline)
        if done == len(parts):  # memory is taken only for what has come: the size may be a lie
            grown = bytearray(min(size, 2 * len(parts)))
            grown[:done] = parts
            parts[:] = bytes(len(parts))
            parts = grown
        with memoryview(parts) as view:
            count = os.readv(fd, [view[done : done + _CHUNK_BYTES]])
        if not count:
            raise Closed("the pipe was closed")
        done += count
    whole = bytes(parts)
    parts[:] = bytes(len(parts))
    return whole


def _write_all(fd: int, data: bytes, deadline: float | None) -> None:
    view = memoryview(data)
    while view:
        _wait(fd, select.POLLOUT, deadline)
        try:
            # At most PIPE_BUF, so that a writable pipe never blocks; a non-blocking one takes what it can.
            written = os.write(fd, view[: _CHUNK_BYTES if not os.get_blocking(fd) else select.PIPE_BUF])
        except BlockingIOError:
            continue
        except BrokenPipeError as error:
            raise Closed("the pipe was closed") from error
        view = view[written:]
