"""Sets a job up: the file in its folder, the stand-ins for a device, the seeded host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import accelerator
import torch
from devices import HostMode, add_tensor_methods, claimed_device
from flavour import IS_UPSTREAM
from forms import Entry, Host, load
from recorder import Recorder


class Stage:
    """One job's surroundings: enter `mode` around everything that a stranger's code does."""

    def __init__(
        self, header: dict[str, Any], blobs: list[bytes], folder: Path, *, poison: bool, limited: bool
    ) -> None:
        self.path = write_files(header, blobs, folder)
        self.text = header["text"]
        self.entry = Entry(**header["entry"])
        claimed = "cuda:0" if IS_UPSTREAM else claimed_device(self.text)
        device = accelerator.Device(header["chip"], *header["cores"], claimed)
        add_tensor_methods()
        accelerator.install_modules(device)
        accelerator.install_driver(device)
        self.recorder = Recorder(header["options"])
        self.mode = HostMode(
            tensors=header.get("tensors", "real"),
            poison=poison,
            limited=limited,
            claimed=claimed,
            on_read=self.recorder.note_read,
        )
        self.recorder.mode = self.mode
        torch.manual_seed(int(header.get("seed", 0)))
        _free_our_names()

    def load(self) -> Host:
        """Run the file's top level."""
        return load(self.text, self.path, self.entry)


def _free_our_names() -> None:
    """Forget our own modules' names, all of which are imported: a module beside the user's file may bear one."""
    for file in Path(__file__).parent.glob("*.py"):
        sys.modules.pop(file.stem, None)


def write_files(header: dict[str, Any], blobs: list[bytes], folder: Path) -> Path:
    """Write the file, and those beside it that came along, into the job's folder; return the file's path."""
    for name, index in header.get("companions", {}).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(blobs[index])
    path = folder / Path(header["name"]).name
    path.write_text(header["text"], encoding="utf-8")
    return path
