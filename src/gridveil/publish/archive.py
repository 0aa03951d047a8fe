"""A bundle as bytes by name, from a directory or from one .zip: known names and regular files only, nothing too large.

Everything is read once and judged from memory, so that nothing can change between one look and the next.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gridveil.errors import ReleaseError
from gridveil.publish.bundle import FILES, MANIFEST

LARGEST_FILE = 1 << 29
"""Bytes; a network of 78,484 buses has 3e7."""
LARGEST_TEXT = 1 << 25
"""Bytes of manifest and certificate: a certificate of 100,000 steps has 2e7."""
LARGEST_RATIO = 200
"""Of unpacked to packed bytes; a profile of equal steps, the most regular of our files, has 60."""
SMALL = 1 << 20
"""Bytes that any file may unpack to."""


@dataclass(frozen=True)
class Contents:
    """The files of a bundle by their names, and what is wrong with it."""

    path: Path
    files: Mapping[str, bytes]
    faults: tuple[str, ...] = ()


def read_bundle(path: Path | str) -> Contents:
    """Everything that belongs to a bundle, and words for whatever does not."""
    path = Path(path)
    try:
        archive = not path.is_dir() and stat.S_ISREG(path.stat().st_mode)
        found = _from_archive(path) if archive else _from_directory(path)
        files, faults = dict[str, bytes](), list[str]()
        for name, data in found:
            if isinstance(data, str):
                faults.append(f"{shown(name)} {data}")
            else:
                files[name] = data
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReleaseError(f"{path} cannot be read as a bundle ({reason}); give the directory or .zip") from error
    if MANIFEST not in files:
        more = f" ({faults[0]})" if faults else ""
        raise ReleaseError(f"{path / MANIFEST} is missing{more}; is {path} a release?")
    return Contents(path, files, tuple(faults))


def shown(name: str) -> str:
    """A name as it can be printed, whatever is in it."""
    return name if name.isascii() and name.isprintable() and len(name) < 100 else ascii(name[:100])


def _largest(name: str) -> int:
    return LARGEST_FILE if name.endswith((".m", ".csv", ".html")) else LARGEST_TEXT


def _from_directory(path: Path) -> Iterator[tuple[str, bytes | str]]:
    for entry in sorted(os.scandir(path), key=lambda one: one.name):
        if entry.name not in FILES:
            yield entry.name, "is no file of a bundle"
        elif not entry.is_file(follow_symlinks=False):
            yield entry.name, "is not a regular file"
        elif (size := entry.stat(follow_symlinks=False).st_size) > _largest(entry.name):
            yield entry.name, f"has {size} bytes, more than any release"
        else:
            yield entry.name, _bytes(Path(entry.path), _largest(entry.name))


def _bytes(path: Path, most: int) -> bytes | str:
    """A file as it is when it is opened, which may be later than when it was listed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as stream:  # noqa: PTH123 - a descriptor, so that nothing is followed
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return "is not a regular file"
        data = stream.read(most + 1)
    return data if len(data) <= most else "is larger than any release"


def _from_archive(path: Path) -> Iterator[tuple[str, bytes | str]]:
    """The members of a .zip that `bundle.packed` could have written; others are named."""
    advice = "unpack it with care and verify the directory"
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            size = 22 + sum(76 + 2 * len(one.filename.encode()) + one.compress_size for one in members)
            if len(members) > len(FILES) or path.stat().st_size != size:
                raise ReleaseError(f"{path} holds more than a release writes into a .zip; {advice}")
            seen = set[str]()
            for one in members:
                name = one.filename
                fault = _foreign(one) or ("is there twice" if name in seen else "")
                seen.add(name)
                yield name, fault or _member(archive, one)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, UnicodeError) as error:
        raise ReleaseError(f"{path} is neither a directory nor a readable .zip ({error}); ask for it again") from error


def _foreign(one: zipfile.ZipInfo) -> str:
    """What is wrong with a member, before any of it is unpacked."""
    if one.orig_filename != one.filename or one.filename not in FILES:
        return "is no file of a bundle"
    if not stat.S_ISREG(one.external_attr >> 16):
        return "is not a regular file"
    if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or one.flag_bits or one.extra or one.comment:
        return "is packed as no release packs"
    if one.file_size > max(SMALL, LARGEST_RATIO * one.compress_size) or one.file_size > _largest(one.filename):
        return f"unpacks to {one.file_size} bytes, more than any release"
    return ""


def _member(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> bytes | str:
    """What a member really unpacks to: no more than it says."""
    with archive.open(one) as stream:
        data = stream.read(one.file_size + 1)
    return data if len(data) == one.file_size else "does not have the size that it says"
