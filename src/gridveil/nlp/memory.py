"""Have glibc keep what is freed: a solver asks for the same memory again and again."""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""glibc's names for what `mallopt` sets (malloc.h)."""


def keep_memory() -> None:
    """To get it anew from the system at every factorisation takes a sixth of MUMPS's time (1,354 and 9,241 buses)."""
    if sys.platform == "linux" and not any(name.startswith("MALLOC_") for name in os.environ):
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_MMAP_THRESHOLD, 1 << 30)
            set_option(_TRIM_THRESHOLD, 1 << 30)
