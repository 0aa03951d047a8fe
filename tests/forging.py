"""What a forger does: change a bundle, and make the digests fit again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridveil.publish import bundle
from gridveil.wall.codec import to_json

Change = Callable[[dict[str, Any]], Any]


def written(record: Any) -> str:
    """A record as a release writes it, if it has such a form at all: a forger is no fool."""
    try:
        return to_json(record)
    except (OverflowError, UnicodeError):
        return json.dumps(record)


def digests_fit(folder: Path) -> None:
    """Give the manifest the digests of whatever is there."""
    record = json.loads((folder / bundle.MANIFEST).read_text(encoding="utf-8"))
    names = [file.name for file in sorted(folder.iterdir()) if file.is_file()]
    names = [name for name in names if name not in (bundle.MANIFEST, bundle.SIGNATURE)]
    order = [
        *(name for name in record["sha256"] if name in names),
        *(one for one in names if one not in record["sha256"]),
    ]
    record["sha256"] = {name: bundle.digest((folder / name).read_bytes()) for name in order}
    (folder / bundle.MANIFEST).write_text(written(record), encoding="utf-8")


def forge(folder: Path, name: str, change: Change) -> None:
    """Change the manifest or the certificate; the digests fit."""
    path = folder / name
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(written(record), encoding="utf-8")
    if name != bundle.MANIFEST:
        digests_fit(folder)


def forge_text(folder: Path, name: str, old: str, new: str) -> None:
    """Change a text; the digests fit."""
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    digests_fit(folder)
