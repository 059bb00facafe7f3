"""A folder of profiler files -> the kernels in it; what cannot be read is said, and the rest is used."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.profile.ascend import Reading, read_op_summary, read_pipe_utilization, read_trace
from agent.profile.nvidia import read_ncu
from agent.profile.proton import read_proton
from agent.profile.records import Profiles
from indexer.errors import BadInput
from indexer.messages import message

# The files that are looked for, and who reads them; in this order the first to tell of a kernel comes first.
READERS: tuple[tuple[str, Callable[[Path], Reading]], ...] = (
    ("PipeUtilization*.csv", read_pipe_utilization),
    ("op_summary*.csv", read_op_summary),
    ("kernel_details*.csv", read_op_summary),
    ("trace.json", read_trace),
    ("*.ncu.csv", read_ncu),
    ("ncu*.csv", read_ncu),
    ("*.hatchet", read_proton),
    ("proton*.json", read_proton),
)
LARGEST_BYTES = 256 << 20


def read_profiles(folder: Path) -> Profiles:
    """Read every profiler file below `folder` that is known by its name; raises `BadInput` when there is none."""
    if not folder.is_dir():
        raise BadInput("profile.no_folder", path=folder)
    files = list(dict(_files(folder)).items())
    if not files:
        raise BadInput("profile.no_files", path=folder, names=", ".join(pattern for pattern, _ in READERS))
    readings = [_read(path, reader) for path, reader in files]
    kernels = tuple(kernel for reading in readings for kernel in reading.kernels)
    return Profiles(kernels, tuple(note for reading in readings for note in reading.notes))


def _files(folder: Path) -> Iterator[tuple[Path, Callable[[Path], Reading]]]:
    for pattern, reader in READERS:
        for path in sorted(folder.rglob(pattern)):
            if path.is_file():
                yield path, reader


def _read(path: Path, reader: Callable[[Path], Reading]) -> Reading:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            return Reading(notes=[message("profile.too_large", path=path, mebibytes=LARGEST_BYTES >> 20)])
        return reader(path)
    except (OSError, UnicodeDecodeError, csv.Error, json.JSONDecodeError, RecursionError) as error:
        return Reading(notes=[message("profile.unreadable", path=path, reason=str(error))])
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a document of another shape than described
        return Reading(notes=[message("profile.unknown_shape", path=path, reason=repr(error))])
