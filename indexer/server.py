"""A store on a Chroma server: generations as collections, mirrored into a folder from which all machines read alike.

Collections on the server, all with the prefix `tritonkb-`:

state           the record `current` names the generation that readers open, replaced in one step; `lease` the writer
passages-NAME   the vectors of a generation by passage key, with corpus and kind: what other users of Chroma can query
files-NAME      the other files of that generation in pieces, each with its hash

A reader asks for `current`, fetches the pieces it lacks once, checks them and reads the mirror as any other store. A
writer holds the lease, builds in its mirror, uploads, and then names the new generation.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.arrays import mapped
from indexer.errors import StoreError
from indexer.repair import ADDRESS, damaged
from indexer.shelf import Shelf
from indexer.store import Holder, current_folder, make_current, read_store_manifest

_BASE = "/api/v2/tenants/default_tenant/databases/default_database/collections"
_PREFIX = "tritonkb-"
PIECE_BYTES = 384 * 1024
PIECES = 8  # in one request
VECTORS = 500  # in one request
REQUEST_SECONDS = 120.0
# A writer that was not heard of for so long has died. It is heard of far more often, also through a slow request.
LEASE_SECONDS = 300.0
RENEWED_SECONDS = 30.0
# Chroma's own files: the server has its own.
_LEFT_OUT = "chroma"


class Server:
    """The few requests that a store needs, over HTTP; raises `StoreError` when the server does not answer."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._ids: dict[str, str] = {}

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of records by id; of a collection that is not there: none."""
        collection = self._id(name)
        if collection is None:
            return {}
        answer = self._ask("POST", f"/{collection}/get", {"ids": list(ids), "include": ["metadatas"]})
        return dict(zip(answer["ids"], answer["metadatas"], strict=True))

    def add(
        self, name: str, ids: Sequence[str], metadatas: Sequence[Mapping[str, Any]],
        vectors: Sequence[Sequence[float]] | None = None, *, replace: bool = False,
    ) -> None:  # fmt: skip
        """Put records into a collection, made where it is not there; those that it has stay, or are replaced."""
        body = {"ids": list(ids), "embeddings": vectors or [[0.0]] * len(ids), "metadatas": list(metadatas)}
        self._ask("POST", f"/{self._made(name)}/{'upsert' if replace else 'add'}", body)

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """Take records away."""
        if (collection := self._id(name)) is not None:
            self._ask("POST", f"/{collection}/delete", {"ids": list(ids)})

    def names(self) -> list[str]:
        """Return the names of our collections."""
        found = [str(c["name"]) for c in self._ask("GET", "?limit=1000", None)]
        return [name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX)]

    def drop(self, name: str) -> None:
        """Delete a collection."""
        self._ids.pop(name, None)
        self._ask("DELETE", f"/{_PREFIX}{name}", None)

    def _id(self, name: str) -> str | None:
        if name not in self._ids:
            found = next((c for c in self._ask("GET", "?limit=1000", None) if c["name"] == _PREFIX + name), None)
            if found is None:
                return None
            self._ids[name] = str(found["id"])
        return self._ids[name]

    def _made(self, name: str) -> str:
        if name not in self._ids:
            body = {"name": _PREFIX + name, "get_or_create": True, "configuration": {"hnsw": {"space": "cosine"}}}
            self._ids[name] = str(self._ask("POST", "", body)["id"])
        return self._ids[name]

    def _ask(self, method: str, path: str, body: object) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + _BASE + path, data, headers, method=method)  # noqa: S310 - http(s)
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as answer:  # noqa: S310 - as above
                return json.loads(answer.read() or b"null")
        except (OSError, ValueError) as error:
            raise StoreError("index.no_answer", url=self.url, reason=error) from error


@dataclass(frozen=True, slots=True)
class Mirror:
    """A server's store and the folder that holds what was read of it."""

    server: Server
    folder: Path

    def refresh(self) -> Path:
        """Bring the folder to the server's current generation; raises `StoreError` when it cannot be had whole."""
        name = self.current()
        self._note_address()
        here = current_folder(self.folder)
        if name is not None and (here is None or here.name != name or not here.exists()):
            try:
                self._fetch(name)
            except StoreError:
                if self.current() == name:
                    raise
                return self.refresh()  # it was replaced, and then dropped, while we fetched it
        return self.folder

    def _note_address(self) -> None:
        """Leave the address in the folder, so that commands suggested for it can name the server."""
        try:
            if not (self.folder / ADDRESS).exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / ADDRESS).write_text(self.server.url, encoding="utf-8")
        except OSError as error:
            raise StoreError("index.cannot_write", path=self.folder, reason=error) from error

    def current(self) -> str | None:
        """Return the name of the server's current generation."""
        found = self.server.get("state", ["current"])
        return str(found["current"]["generation"]) if found else None

    def publish(self, keep: int, lease: Lease) -> None:
        """Upload the folder's current generation, name it, and drop all but the last `keep`.

        Raises `StoreError` when the lease was lost meanwhile: another writer's generation is not replaced.
        """
        folder = current_folder(self.folder)
        if folder is None or folder.name == self.current():
            return
        for part in ("passages", "files"):
            if f"{part}-{folder.name}" in self.server.names():  # left by an upload that was stopped
                self.server.drop(f"{part}-{folder.name}")
        self._upload_vectors(folder)
        self._upload_files(folder)
        lease.renew()
        self.server.add("state", ["current"], [{"generation": folder.name}], replace=True)
        made = sorted({n.partition("-")[2] for n in self.server.names() if n.startswith(("files-", "passages-"))})
        for stale in made[:-keep]:
            for name in sorted({f"files-{stale}", f"passages-{stale}"} & set(self.server.names())):
                self.server.drop(name)

    def _upload_vectors(self, folder: Path) -> None:
        shelf = Shelf(folder / "passages.sqlite")
        rows, vectors = shelf.everything(), mapped(folder / "vectors.npy")
        shelf.close()
        if not vectors.shape[1]:
            return
        for first in range(0, len(rows), VECTORS):
            part = [row.passage for row in rows[first : first + VECTORS]]
            metadatas = [{"corpus": p.corpus, "kind": p.kind, "id": p.id} for p in part]
            embeddings = vectors[first : first + VECTORS].tolist()
            self.server.add(f"passages-{folder.name}", [p.key for p in part], metadatas, embeddings)

    def _upload_files(self, folder: Path) -> None:
        pieces = []
        names = [p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*")) if p.is_file()]
        for name in (n for n in names if not n.startswith(f"{_LEFT_OUT}/")):
            content = (folder / name).read_bytes()
            cuts = [content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES)] or [b""]
            pieces += [(name, piece) for piece in cuts]
        for first in range(0, len(pieces), PIECES):
            numbered = list(enumerate(pieces))[first : first + PIECES]
            metadatas = [
                {"path": path, "sha256": hashlib.sha256(piece).hexdigest(), "data": base64.b64encode(piece).decode()}
                for _, (path, piece) in numbered
            ]
            self.server.add(f"files-{folder.name}", [str(number) for number, _ in numbered], metadatas)
        self.server.add(f"files-{folder.name}", ["count"], [{"pieces": len(pieces)}])

    def _fetch(self, name: str) -> None:
        """Fetch a generation beside the others and make it current in the folder when it is whole."""
        made = self.folder / "generations" / f"{name}.{os.getpid()}"
        try:
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            for path, piece in self._pieces(name):
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                with (made / path).open("ab") as file:
                    file.write(piece)
            read_store_manifest(made)
            if not (made.parent / name).exists():
                made.rename(made.parent / name)
            make_current(self.folder, name)
        except OSError as error:
            raise StoreError("index.cannot_write", path=self.folder, reason=error) from error
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _pieces(self, name: str) -> Iterator[tuple[str, bytes]]:
        count = self.server.get(f"files-{name}", ["count"])
        if not count:
            raise damaged(self.server.url, name)
        total = int(count["count"]["pieces"])
        for first in range(0, total, PIECES):
            numbers = [str(n) for n in range(first, min(first + PIECES, total))]
            found = self.server.get(f"files-{name}", numbers)
            for number in numbers:
                facts = found.get(number)
                piece = base64.b64decode(facts["data"]) if facts else b""
                if facts is None or hashlib.sha256(piece).hexdigest() != facts["sha256"]:
                    raise damaged(self.server.url, f"{name} {number}")
                yield str(facts["path"]), piece


class Lease:
    """The right to write to a server, renewed in a thread for as long as its block lasts.

    Chroma's `add` leaves a record that is there as it is: of two writers the first one's stays, and both read whose.
    """

    def __init__(self, server: Server) -> None:
        self._server = Server(server.url)  # of its own: the thread's
        self._mine = {"owner": uuid.uuid4().hex, "pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def take(self) -> Holder | None:
        """Try to become the writer; return who is instead."""
        self._server.add("state", ["lease"], [self._record()])
        held = self._held()
        if held.get("owner") == self._mine["owner"]:
            self._thread.start()
            return None
        if time.time() - float(held.get("renewed", 0)) > LEASE_SECONDS:
            self._server.remove("state", ["lease"])
        return Holder(int(held.get("pid", 0)), time.strftime("%H:%M:%S", time.localtime(held.get("since", 0))))

    def renew(self) -> None:
        """Say that this writer is alive; raises `StoreError` when another one took the lease over."""
        with self._lock:
            if self._held().get("owner") != self._mine["owner"]:
                raise StoreError("index.lease_lost", url=self._server.url, seconds=f"{LEASE_SECONDS:.0f}")
            self._server.add("state", ["lease"], [self._record()], replace=True)

    def end(self) -> None:
        """Give it back, if it is still ours."""
        self._end.set()
        self._thread.join()
        if self._held().get("owner") == self._mine["owner"]:
            self._server.remove("state", ["lease"])

    def _record(self) -> dict[str, Any]:
        return {**self._mine, "renewed": time.time()}

    def _held(self) -> Mapping[str, Any]:
        return self._server.get("state", ["lease"]).get("lease", {})

    def _keep(self) -> None:
        while not self._end.wait(RENEWED_SECONDS):
            with suppress(StoreError):  # a server that does not answer now may do so next time; else `renew` tells
                self.renew()


@contextmanager
def leased(server: Server, wait_seconds: float, waiting: Callable[[Holder], None]) -> Iterator[Lease]:
    """Hold the server's one lease; raises `StoreError` when another writer keeps it for longer."""
    lease = Lease(server)
    end = time.monotonic() + wait_seconds
    told = False
    while (holder := lease.take()) is not None:
        if time.monotonic() > end:
            raise StoreError("index.locked", path=server.url, pid=holder.pid, since=holder.since)
        if not told:
            waiting(holder)
            told = True
        time.sleep(0.5)
    try:
        yield lease
    finally:
        lease.end()
