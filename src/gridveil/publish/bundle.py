"""The bundle on disk: the network, certificate, manifest, profile and report; written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gridveil.errors import ReleaseError
from gridveil.files import sync_directory
from gridveil.process.system import exchange

NETWORK, CERTIFICATE, MANIFEST, PROFILE = "released.m", "certificate.json", "manifest.json", "profile.csv"
REPORT = "report.html"


def check_target(target: Path, *, force: bool) -> None:
    """Refuse a target that exists or cannot be written, before anything is charged."""
    if target.exists() and not force:
        raise ReleaseError(f"{target} exists; choose another directory or give --force")
    if target.exists() and not target.is_dir():
        raise ReleaseError(f"{target} is not a directory; choose another --out")
    ours = {NETWORK, CERTIFICATE, MANIFEST, PROFILE, REPORT}
    if target.exists() and (others := sorted({file.name for file in target.iterdir()} - ours)):
        raise ReleaseError(
            f"{target} holds other things ({others[0]}), which --force would delete; choose another --out"
        )
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".gridveil.", dir=parent):
            pass
    except OSError as error:
        raise ReleaseError(f"{parent} cannot be written ({error.strerror}); choose another --out") from error


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A directory beside the target that takes its name when everything in it is written, and vanishes otherwise."""
    parent = target.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".gridveil.", dir=parent))
    try:
        yield staging
        for file in staging.iterdir():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
        staging.chmod(0o755)
        sync_directory(staging)
        if target.exists():
            _replace(staging, target)
        else:
            staging.rename(target)
        sync_directory(parent)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _replace(staging: Path, target: Path) -> None:
    """The new takes the place of the old, which is then where the new was; at any moment one of them is in place, where
    the system can exchange them, and elsewhere after any failure that leaves us running."""
    if exchange(staging, target):
        return
    retired = Path(tempfile.mkdtemp(prefix=".gridveil.", dir=staging.parent))
    try:
        target.rename(retired / "old")
        staging.rename(target)
    except BaseException:
        if not target.exists():
            (retired / "old").rename(target)
        raise
    finally:
        shutil.rmtree(retired, ignore_errors=True)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
