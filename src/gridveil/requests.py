"""Requests to end, which come as signals: passed on as an exception once, put off, or past changing anything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, NoReturn

_NAMES = (
    "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXCPU", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2",
    "SIGIO", "SIGPWR", "SIGSTKFLT", "SIGBREAK",
)  # fmt: skip
"""All that end a process by default, but for those that nobody can hear (SIGKILL), that say that the process itself is
broken (SIGABRT, SIGSEGV, ...), and the nameless real-time ones."""


class Ended(BaseException):
    """The process was told to end. No error that somebody may want to catch on the way."""


@contextmanager
def heeding() -> Iterator[Callable[[], None]]:
    """Let a request to end pass as an exception, so that it can be told what was spent; once: more of them change
    nothing of that. Nor does any after the call of what is given: then it is settled how this ends."""
    end, settle = _once()
    with _handling(end):
        yield settle


def heed() -> Callable[[], None]:
    """As `heeding`, for the rest of the process: a command whose end is settled is let go to it."""
    end, settle = _once()
    for number in _requests():
        signal.signal(number, end)
    return settle


def _once() -> tuple[Callable[[int, FrameType | None], None], Callable[[], None]]:
    said = list[int]()

    def end(number: int, frame: FrameType | None) -> None:
        said.append(number)
        if len(said) == 1:
            _raise(number)

    return end, lambda: said.append(0)


@contextmanager
def deferring() -> Iterator[None]:
    """Keep a request to end until this is over."""
    said = list[int]()
    with _handling(lambda number, _: said.append(number)):
        yield
    if said:
        _raise(said[0])


def _raise(number: int) -> NoReturn:
    raise KeyboardInterrupt if number == signal.SIGINT else Ended(f"interrupted by signal {number}")


@contextmanager
def _handling(handler: Any) -> Iterator[None]:
    """A handler of requests to end; only the main thread may have any."""
    with ExitStack() as stack:
        for number in _requests():
            stack.callback(signal.signal, number, signal.signal(number, handler))
        yield


def _requests() -> list[int]:
    """The signals that ask to end. Whoever has this process ignore one (nohup) means it to go on."""
    if threading.current_thread() is not threading.main_thread():
        return []
    numbers = [getattr(signal, name, None) for name in _NAMES]
    return [one for one in numbers if one is not None and signal.getsignal(one) not in (None, signal.SIG_IGN)]
