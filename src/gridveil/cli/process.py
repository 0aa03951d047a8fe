"""What a command sees to before anything else: its standard streams, and its threads."""

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


def one_thread() -> None:
    """Unless the user says otherwise, NumPy's linear algebra has one thread, as the solver's has. It would start one
    per core when it is loaded, and nothing here is large enough to gain by them."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
