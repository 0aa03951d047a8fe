"""The three standard streams, there before anything else is opened."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper


def open_streams() -> None:
    """Have all three standard streams: no file that is opened later may take the place of one that is closed, where
    stray output would be written into it. A terminal that lacks our characters shows others, and is no failure."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115 - lives as long as the process
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
