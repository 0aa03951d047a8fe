"""How processes of ours speak through pipes: every message is its length and itself."""

from __future__ import annotations

import struct
import sys
from typing import IO


def send(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(struct.pack(">Q", len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes], most: int = sys.maxsize) -> bytes | None:
    """Read one message; `None` at the end, or if it is longer than it may be."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack(">Q", head)
    if size > most:
        return None
    data = stream.read(size)
    return data if len(data) == size else None
