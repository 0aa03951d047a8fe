"""Ctrl-C while compiled code works."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class KeepsError(Protocol):
    """What ends a solve by its `error`, and raises it afterwards."""

    error: BaseException | None


@contextmanager
def interruptible(holder: KeepsError) -> Iterator[None]:
    """Let Ctrl-C end the solve: an exception raised by the signal itself would be lost on its way through C."""

    def stop(*_: object) -> None:
        holder.error = KeyboardInterrupt()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
