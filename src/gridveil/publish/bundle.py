"""The bundle on disk, a directory or one .zip: network, certificate, manifest and more; written whole or not at all."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from gridveil.errors import ReleaseError
from gridveil.files import require_room
from gridveil.formats.registry import BESIDE, TRANSLATIONS
from gridveil.packing import packed
from gridveil.publish.staging import PREFIX, Taken, staged, tidy, try_out, write_staged

NETWORK, CERTIFICATE, MANIFEST, PROFILE = "released.m", "certificate.json", "manifest.json", "profile.csv"
REPORT, SIGNATURE = "report.html", "manifest.json.sig"
TRANSLATED = (*TRANSLATIONS.values(), *BESIDE.values())
"""The network in other formats, made from `released.m`."""
FILES = (NETWORK, CERTIFICATE, MANIFEST, PROFILE, REPORT, SIGNATURE, *TRANSLATED)
"""All that a bundle may hold."""


def is_archive(target: Path) -> bool:
    """Is a bundle to be one file?"""
    return target.suffix.lower() == ".zip"


ROOM = 64 * 2**20
"""Bytes that must be free where a bundle is written; the largest public network takes 40 MB."""


def check_target(target: Path, *, force: bool) -> Path:
    """Where a bundle will stand, links resolved; refuses what exists or cannot be written, before anything is charged.

    What dead processes left there is tidied up first: that may put a bundle back that one of them was replacing.
    """
    try:
        target = target.resolve()
    except (OSError, RuntimeError) as error:
        raise ReleaseError(f"{target} leads nowhere ({error}); choose another --out") from error
    parent = target.parent
    if target.name.startswith(PREFIX):
        raise ReleaseError(f"{target} is named as directories that are tidied away; choose another --out")
    try:
        parent.mkdir(parents=True, exist_ok=True)
        tidy(parent)
        try_out(parent)
        require_room(parent, ROOM)
    except OSError as error:
        raise ReleaseError(f"{parent} cannot be written ({error.strerror}); choose another --out") from error
    _check_free(target, force=force)
    return target


def _check_free(target: Path, *, force: bool) -> None:
    """Refuse what exists, unless it is a bundle and is to be replaced."""
    if target.exists() and not force:
        raise Taken(f"{target} exists; choose another directory or give --force")
    if target.exists() and is_archive(target):
        _check_replaced(target)
    elif target.exists():
        if not target.is_dir():
            raise Taken(f"{target} is not a directory; choose another --out")
        if others := sorted({file.name for file in target.iterdir()} - set(FILES)):
            raise Taken(f"{target} holds other things ({others[0]}), which --force would delete; choose another --out")


def _check_replaced(target: Path) -> None:
    """`--force` replaces archives of releases only."""
    try:
        with zipfile.ZipFile(target) as archive:
            names = set(archive.namelist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        names = set()
    if MANIFEST not in names or not names <= set(FILES):
        raise Taken(f"{target} is no release, and --force would delete it; choose another --out")


def write_files(target: Path, files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write a bundle of files by their names; what is there already is replaced by `force` alone."""
    if is_archive(target):
        write_staged(target, packed(files), force=force)
        return
    with staged(target, force=force) as staging:
        for name, data in files.items():
            (staging / name).write_bytes(data)


def digest(data: bytes) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()
