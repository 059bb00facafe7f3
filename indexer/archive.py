"""Files of an archive, read in memory: nothing is unpacked to the disk, so nothing can leave its folder."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import IO, cast

from typing_extensions import Self

from indexer.corpus import MAX_FILE_BYTES, Entry, content_commit
from indexer.errors import BadInput, StoreError
from indexer.records import Corpus

# The largest known tree (llvm-project) has 160 000 files and 2.5 GB; its part that is indexed 60 MB.
MAX_MEMBERS = 1_000_000
MAX_UNPACKED_BYTES = 8 << 30
MAX_TAKEN_BYTES = 512 << 20
# Long names and attributes of a tar's member come as a member of their own, which tarfile reads whole.
MAX_HEADER_BYTES = 1 << 20
_HEADERS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip

_TARS: dict[str, Callable[[Path], object]] = {
    ".tar": lambda path: path.open("rb"),
    ".tar.gz": gzip.open, ".tgz": gzip.open,
    ".tar.xz": lzma.open, ".txz": lzma.open,
    ".tar.bz2": bz2.open, ".tbz2": bz2.open,
}  # fmt: skip
_ZIPS = (".zip", ".whl")
SUFFIXES = (*_TARS, *_ZIPS)
# An absolute path, one with a drive, and one that goes up.
_LEAVING = re.compile(r"^[/\\]|^[A-Za-z]:[/\\]|(?:^|[/\\])\.\.(?:[/\\]|$)")
# What `git archive`, and with it GitHub and GitCode, leave in the comment of an archive.
_COMMIT = re.compile(r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")
# What the readers raise for a file that is cut off or no archive.
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, gzip.BadGzipFile)


class ArchiveTree:
    """A corpus in a `.tar.*`, `.zip` or `.whl`; a single top folder, as forges make it, is not part of the paths.

    Its commit is the one that a forge wrote into it, else the hash of its files. Links and devices are no files.
    """

    def __init__(self, name: str, target: str, path: Path, takes: Callable[[str], bool]) -> None:
        """Read what `takes` accepts; raises `BadInput` for what is no archive, is too large or leaves its folder."""
        contents, commit = _unpack(path, takes)
        self._contents = contents
        self._entries = [Entry(at, hashlib.sha256(data).hexdigest()) for at, data in sorted(contents.items())]
        self.corpus = Corpus(name, str(path), commit or content_commit(self._entries), target)

    def entries(self) -> list[Entry]:
        """List the files that the corpus takes."""
        return self._entries

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the contents in the order asked."""
        for entry in entries:
            yield entry, self._contents[entry.path]


def is_archive(path: Path) -> bool:
    """Tell whether the name of a file is that of an archive we read."""
    return path.name.lower().endswith(SUFFIXES)


def _unpack(path: Path, takes: Callable[[str], bool]) -> tuple[dict[str, bytes], str]:
    """Return the contents by path, and the commit that the archive names (or nothing)."""
    kept = _Kept(path, takes)
    try:
        commit = _unzip(path, kept) if path.name.lower().endswith(_ZIPS) else _untar(path, kept)
    except _BROKEN as error:
        raise BadInput("index.bad_archive", path=path, reason=error) from error
    except OSError as error:
        raise StoreError("index.unreadable", path=path, reason=error.strerror or error) from error
    return kept.contents(), commit


class _Kept:
    """The members so far: all names, to find the top folder, and the contents of those that may be taken."""

    def __init__(self, path: Path, takes: Callable[[str], bool]) -> None:
        self._path, self._takes = path, takes
        self._tops: set[str] = set()
        self._flat = False
        self._files: dict[str, bytes] = {}
        self._members = self._bytes = 0

    def wants(self, name: str, *, is_file: bool) -> bool:
        """Look at a member; raises `BadInput` for one that leaves its folder, and for too many."""
        if _LEAVING.search(name):
            raise BadInput("index.unsafe_archive", path=self._path, member=name)
        parts = PurePosixPath(name).parts
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise BadInput("index.huge_archive", path=self._path, limit=f"{MAX_MEMBERS} files")
        if not parts or not is_file:
            return False
        self._tops.add(parts[0])
        self._flat |= len(parts) == 1
        # Which of the two it is shows at the end only.
        return self._takes("/".join(parts)) or self._takes("/".join(parts[1:]))

    def keep(self, name: str, file: IO[bytes]) -> None:
        """Read a member, at most a byte more than the limit of a file."""
        data = file.read(MAX_FILE_BYTES + 1)
        self._bytes += len(data)
        if self._bytes > MAX_TAKEN_BYTES:
            raise BadInput("index.huge_archive", path=self._path, limit=f"{MAX_TAKEN_BYTES >> 20} MiB")
        self._files["/".join(PurePosixPath(name).parts)] = data

    def contents(self) -> dict[str, bytes]:
        """Return what is taken, without a single top folder unless the corpus needs it."""
        whole = {path: data for path, data in self._files.items() if self._takes(path)}
        if self._flat or len(self._tops) != 1:
            return whole
        inner = {path.partition("/")[2]: data for path, data in self._files.items()}
        return {path: data for path, data in inner.items() if self._takes(path)} or whole


def _unzip(path: Path, kept: _Kept) -> str:
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MAX_UNPACKED_BYTES:
            raise BadInput("index.huge_archive", path=path, limit=f"{MAX_UNPACKED_BYTES >> 30} GiB")
        for member in archive.infolist():
            # The upper half holds the mode of Unix; links have their type there.
            kind = member.external_attr >> 28
            if kept.wants(member.filename, is_file=not member.is_dir() and kind in {0, 8}):
                with _readable(path, member.filename), archive.open(member) as file:
                    kept.keep(member.filename, file)
        return _commit_in(archive.comment.decode(errors="replace"))


@contextmanager
def _readable(path: Path, member: str) -> Iterator[None]:
    """Translate what zipfile says of an encrypted member, or of a compression that it does not know.

    The second is a `NotImplementedError`, which is a `RuntimeError` too.
    """
    try:
        yield
    except RuntimeError as error:
        raise BadInput("index.bad_archive", path=f"{path}:{member}", reason=error) from error


def _untar(path: Path, kept: _Kept) -> str:
    suffix = next(s for s in _TARS if path.name.lower().endswith(s))
    with cast("IO[bytes]", _TARS[suffix](path)) as packed:
        limited = _Limited(path, packed)
        with tarfile.open(fileobj=limited, mode="r|", tarinfo=_Member) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if kept.wants(member.name, is_file=file is not None) and file is not None:
                    kept.keep(member.name, file)
            return _commit_in(archive.pax_headers.get("comment", ""))


class _Member(tarfile.TarInfo):
    """A member whose header is refused where it claims to be huge."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _HEADERS and member.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {member.size} bytes")
        return member


class _Limited(BufferedIOBase):
    """A stream that raises when more is unpacked from it than any tree has."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream, self._left = path, stream, MAX_UNPACKED_BYTES

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._stream.read(-1 if size is None else size)
        self._left -= len(data)
        if self._left < 0:
            raise BadInput("index.huge_archive", path=self._path, limit=f"{MAX_UNPACKED_BYTES >> 30} GiB")
        return data


def _commit_in(comment: str) -> str:
    return comment.strip() if _COMMIT.match(comment.strip()) else ""
