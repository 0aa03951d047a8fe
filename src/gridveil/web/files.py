"""Files of the one folder that the workbench was started in. Addresses have their ids, never their names."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

from gridveil.errors import GridVeilError
from gridveil.files import sync_directory, write_whole

HOME = "workbench"
"""Of all that the workbench keeps; in the folder it was started in, for its owner alone."""
CASES = (".m", ".mat", ".raw", ".rawx", ".json", ".nc", ".h5", ".xiidm", ".xml")
DEPTH, MANY = 4, 400
"""How deep files are looked for, and how many are listed."""
LEFT_OUT = ("jobs", "advice")


class NotHere(GridVeilError):
    """There is no such file in the folder."""


@dataclass(frozen=True)
class Found:
    """A file or a bundle: its id, its path within the folder, its bytes."""

    id: str
    name: str
    size: int


class Folder:
    """The folder, with the key that ids are made by."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.home = self.root / HOME
        for one in (self.home, self.uploads, self.home / "jobs", self.home / "releases"):
            one.mkdir(mode=0o700, exist_ok=True)
            self.within(one)
        key = self.home / "key"
        if not key.is_file():
            write_whole(key, secrets.token_bytes(32), 0o600)
        self._key = self.within(key).read_bytes()

    @property
    def uploads(self) -> Path:
        return self.home / "uploads"

    def id_of(self, name: str) -> str:
        """By a key, so that nobody can tell a name from its id, or try names."""
        return hmac.new(self._key, name.encode("utf-8", "surrogateescape"), sha256).hexdigest()[:20]

    def within(self, path: Path) -> Path:
        """A path whose links all stay in the folder; others are as if they were not there."""
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise NotHere("there is no such file in the folder of the workbench; choose one of the list") from None
        if not real.is_relative_to(self.root):
            raise NotHere("that file lies outside the folder of the workbench; copy it there, or drop it on the page")
        return real

    def cases(self) -> list[Found]:
        """Files that may be networks."""
        return self._walk(lambda path: path.suffix.lower() in CASES)

    def bundles(self) -> list[Found]:
        """Files that may be releases."""
        return self._walk(lambda path: path.suffix.lower() == ".zip")

    def signing_keys(self) -> list[Found]:
        """Files that may be keys to sign with."""
        return self._walk(lambda path: path.suffix.lower() == ".key")

    def path(self, wanted: str, among: list[Found]) -> Path:
        """The file with an id, within the folder: relative to it, as commands are given it."""
        for one in among:
            if hmac.compare_digest(one.id.encode(), wanted.encode("utf-8", "replace")):
                self.within(self.root / one.name)
                return Path(one.name)
        raise NotHere("there is no such file in the folder of the workbench; choose one of the list")

    def _walk(self, wanted: Callable[[Path], bool]) -> list[Found]:
        found = []
        for path in _files(self.root, DEPTH):
            if not wanted(path):
                continue
            name = path.relative_to(self.root)
            if name.parts[:1] == (HOME,) and name.parts[1] in LEFT_OUT:
                continue
            with suppress(NotHere, OSError):
                real = self.within(path)
                if real.is_file():
                    found.append(Found(self.id_of(str(name)), str(name), real.stat().st_size))
            if len(found) == MANY:
                break
        return sorted(found, key=lambda one: one.name)


def _files(folder: Path, depth: int) -> Iterator[Path]:
    """Files below a folder, hidden ones left out; folders that are links are not entered."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return
    for one in entries:
        if one.name.startswith("."):
            continue
        if one.is_dir(follow_symlinks=False):
            if depth > 1:
                yield from _files(folder / one.name, depth - 1)
        else:
            yield folder / one.name


def plain_name(given: str, endings: tuple[str, ...]) -> str:
    """A file name of somebody's machine as one that cannot be anything else here."""
    name = re.split(r"[/\\]", unquote(given))[-1]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".-_")[-80:]
    if not name.lower().endswith(endings) or name.lower() in endings:
        raise GridVeilError(f"a file whose name ends in {', '.join(endings)} is taken; yours does not")
    return name


class Upload:
    """A file on its way in: under its name only when it is whole. With `with`; what is not kept is removed."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder, self.name = folder, name
        handle, self._temporary = tempfile.mkstemp(prefix=".coming.", dir=folder.within(folder.uploads))
        self._stream, self._digest, self.size = os.fdopen(handle, "wb"), sha256(), 0

    def __enter__(self) -> Upload:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        Path(self._temporary).unlink(missing_ok=True)

    def write(self, chunk: bytes) -> None:
        self._stream.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)

    def keep(self) -> str:
        """Its id. The folder it stands in is named by its content, so that no upload replaces another."""
        if not self.size:
            raise GridVeilError("the file is empty; nothing was kept")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        place = self.folder.uploads / self._digest.hexdigest()[:16]
        place.mkdir(mode=0o700, exist_ok=True)
        target = self.folder.within(place) / self.name
        os.replace(self._temporary, target)
        sync_directory(place)
        return self.folder.id_of(str(target.relative_to(self.folder.root)))
