"""A bundle as bytes by name, from a directory or from one .zip: known names and regular files only, nothing too large.

Everything is read once and judged from memory, so that nothing can change between one look and the next.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gridveil.errors import ReleaseError
from gridveil.packing import packed
from gridveil.publish.bundle import CERTIFICATE, FILES, MANIFEST, SIGNATURE

LARGEST_FILE = 1 << 29
"""Bytes; a network of 78,484 buses has 3e7."""
LARGEST_TEXT = 1 << 25
"""Bytes of manifest and certificate: a certificate of 100,000 steps has 2e7."""
LARGEST_ARCHIVE = 4 * LARGEST_FILE + 3 * LARGEST_TEXT
"""Bytes of a .zip, which compresses nothing."""
LARGEST_DIRECTORY = 1 << 12
"""Bytes of a .zip's list of members: that of a bundle has 400, and Python would read any length of it into memory."""
_END = 22
"""Bytes of the end record, without a comment."""
ADVICE = "unpack it with care and verify the directory"


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
    return LARGEST_TEXT if name in (MANIFEST, CERTIFICATE, SIGNATURE) else LARGEST_FILE


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
    """The members of a .zip, and whatever is in it that `bundle.packed` does not write."""
    data = _bytes(path, LARGEST_ARCHIVE)
    if isinstance(data, str):
        raise ReleaseError(f"{path} {data}")
    if _many(data):
        raise ReleaseError(f"{path} holds more than the files of a release; {ADVICE}")
    files, faults = dict[str, bytes](), dict[str, str]()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for one in archive.infolist():
                if one.compress_type != zipfile.ZIP_STORED or one.flag_bits:
                    raise ReleaseError(f"{path} is packed as no release packs; {ADVICE}")
                if fault := _foreign(one) or ("is there twice" if one.filename in files else ""):
                    faults[one.orig_filename] = fault
                else:
                    files[one.filename] = archive.read(one)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, UnicodeError, struct.error) as error:
        raise ReleaseError(f"{path} is neither a directory nor a readable .zip ({error}); ask for it again") from error
    yield from files.items()
    yield from faults.items()
    if not faults and packed(files) != data:
        yield path.name, f"holds more than the files of a release, or in another form; {ADVICE}"


def _many(data: bytes) -> bool:
    """Does a .zip list more members than a bundle has files, by its end record? Before any of the list is read."""
    at = data.rfind(b"PK\5\6", max(0, len(data) - _END - (1 << 16)), len(data) - _END + 4)
    if at < 0:
        return False  # then it is no .zip either
    count, size = struct.unpack_from("<HL", data, at + 10)
    # the locator of a second, larger end record, which would count in place of this one
    larger = data[max(at - 20, 0) : at].startswith(b"PK\6\7")
    return bool(larger or count > len(FILES) or size > LARGEST_DIRECTORY)


def _foreign(one: zipfile.ZipInfo) -> str:
    """What is wrong with a member, before any of it is read."""
    if one.orig_filename != one.filename or one.filename not in FILES:
        return "is no file of a bundle"
    return f"has {one.file_size} bytes, more than any release" if one.file_size > _largest(one.filename) else ""
