"""Folders and archives of small files, by name: nothing that climbs out, nothing that swells, nothing twice."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from gridveil.errors import CaseFileError
from gridveil.regular import refuse_size, regular_bytes

MOST_FILES = 1000


def folder_files(path: Path) -> dict[str, bytes]:
    """The files of a folder, without those of folders in it."""
    try:
        names = sorted(one.name for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
    except OSError as error:
        raise CaseFileError(path, None, f"the folder cannot be read ({error.strerror})", "check it") from None
    _refuse_many(path, len(names))
    found: dict[str, bytes] = {}
    for name in names:
        found[name] = regular_bytes(path / name, "check the folder")
        refuse_size(path, sum(map(len, found.values())))
    return found


def archive_files(path: Path, data: bytes) -> dict[str, bytes]:
    """The files of a zip archive; one folder around all of them is left out."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            _refuse_many(path, len(members))
            names = _plain_names(path, [one.filename for one in members])
            if any(one.flag_bits & 1 for one in members):
                raise CaseFileError(path, None, "the archive is encrypted", "unpack it and give the folder")
            refuse_size(path, sum(one.file_size for one in members))
            # a member never gives more than the size it states: what swells beyond it is an error of the archive
            return {name: archive.read(one) for name, one in zip(names, members, strict=True)}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, RuntimeError):
        advice = "unpack it and give the folder"
        raise CaseFileError(path, None, "this is not a zip archive that can be read", advice) from None


def _plain_names(path: Path, names: list[str]) -> list[str]:
    """Names without their common folder. A path that is absolute or climbs is refused, whoever made the archive."""
    parts = []
    for name in names:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\\" in name or ":" in name or "\0" in name or not place.parts:
            raise CaseFileError(path, None, "the archive has a path that leads out of it", "do not trust this file")
        parts.append(place.parts)
    if parts and all(len(one) == 2 and one[0] == parts[0][0] for one in parts):
        parts = [one[1:] for one in parts]
    plain = ["/".join(one) for one in parts]
    if len(set(plain)) < len(plain):
        raise CaseFileError(path, None, "a file stands twice in the archive", "keep one of the two")
    return plain


def _refuse_many(path: Path, count: int) -> None:
    if count > MOST_FILES:
        raise CaseFileError(path, None, f"there are more than {MOST_FILES} files", "give the files of one network")
