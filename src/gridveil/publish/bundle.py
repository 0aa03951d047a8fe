"""The bundle on disk: the network, certificate, manifest, profile and report; written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from gridveil.errors import ReleaseError
from gridveil.exchange.types import Certificate, Check, UnusedStep

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
        if target.exists():
            retired = Path(tempfile.mkdtemp(prefix=".gridveil.", dir=parent))
            target.rename(retired / "old")
            staging.rename(target)
            shutil.rmtree(retired)
        else:
            staging.rename(target)
    except OSError as error:
        raise ReleaseError(f"{target} could not be written ({error.strerror})") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def to_json(record: dict[str, Any]) -> str:
    """The JSON text of a record, the same for the same record."""
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def certificate_record(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain data; an infinite value is written as null. Unused steps stand apart: without claim."""
    record: dict[str, Any] = {"passed": certificate.passed, "checks": [_finite(one) for one in certificate.checks]}
    if certificate.unused:
        record["unused_steps"] = [_finite(one) for one in certificate.unused]
    return record


def _finite(record: Check | UnusedStep) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in asdict(record).items()
    }


def worst_of_steps(checks: Sequence[Check]) -> list[Check]:
    """Checks that differ only in their step, as the one that comes nearest to its limit or fails."""
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(re.sub(r" of step \d+", "", check.name), []).append(check)
    result = []
    for name, group in groups.items():
        worst = max(group, key=lambda one: (not one.passed, one.value - one.limit))
        many = f"{name}, worst of {len(group)} steps" if len(group) > 1 else name
        result.append(Check(many, worst.value, worst.limit, worst.passed))
    return result
