"""What to say of an index that cannot be used: the whole command that makes it anew, with all that it held."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from indexer.embed import DEFAULT_EMBEDDER
from indexer.errors import StoreError
from indexer.home import data_home
from indexer.messages import message

BUILD = "tritonkb index build"
# In the folder that mirrors a server: the server's address.
ADDRESS = "address"


def no_index(store: Path) -> StoreError:
    """Return what to raise where nothing was built yet."""
    return StoreError("index.no_index", path=store, command=f"{BUILD}{store_option(store)}")


def damaged(path: Path | str, reason: object) -> StoreError:
    """Return what to raise where a file of an index, or what a server sent of one, cannot be read."""
    return StoreError("index.damaged", path=path, reason=reason, **_way_out(path))


def other_version(path: Path, found: object, wanted: int) -> StoreError:
    """Return what to raise for an index in a format that this version does not read."""
    return StoreError("index.other_version", path=path, found=found, wanted=wanted, **_way_out(path))


def store_option(store: Path | str | None) -> str:
    """Return ` --store STORE` as a command needs it, nothing where the index is the one of the data folder."""
    if store is None:
        return ""
    text = str(store)
    if not text.startswith(("http://", "https://")):
        folder = Path(store)
        if folder.absolute() == (data_home() / "index").absolute():
            return ""
        text = _text(folder / ADDRESS) or text
    return f" --store {shlex.quote(text)}"


def _way_out(path: Path | str) -> dict[str, object]:
    """Return the values `command` and `dropped`: a build of what the manifest names, or of nothing it can name."""
    store = path if isinstance(path, str) else _store_of(path)
    made = {} if isinstance(store, str) else _manifest(store)
    try:
        sources = [str(mark["source"]) for mark in made.get("corpora", [])]
        model = str(made.get("model", DEFAULT_EMBEDDER))
    except (TypeError, KeyError, AttributeError):
        sources, model = [], DEFAULT_EMBEDDER
    corpora = "".join(f" --corpus {shlex.quote(source)}" for source in sources)
    embedder = f" --embedder {shlex.quote(model)}" if model != DEFAULT_EMBEDDER else ""
    command = f"{BUILD} --fresh{store_option(store)}{corpora}{embedder}"
    return {"command": command, "dropped": "" if sources else message("index.dropped")}


def _store_of(path: Path) -> Path:
    """Return the store that a file or a folder belongs to."""
    return next((folder for folder in (path, *path.parents) if (folder / "generations").is_dir()), path)


def _manifest(store: Path) -> dict[str, Any]:
    """Read the current manifest, of whatever version; nothing where it is damaged too."""
    try:
        name = (store / "current").read_text(encoding="utf-8").strip()
        table = json.loads((store / "generations" / name / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
