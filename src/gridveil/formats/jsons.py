"""JSON as writers give it: the shortest digits that read back the same, keys in the order they were given in."""

from __future__ import annotations

import json
from typing import Any


def to_bytes(value: Any) -> bytes:
    """The file. Numbers must be finite: JSON has no others."""
    return (json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()
