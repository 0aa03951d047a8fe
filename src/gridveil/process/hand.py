"""A process that is asked, answers, and is ended: what is slow or may crash is done by hands of one's own."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from gridveil.process.messages import receive, send
from gridveil.process.start import end, isolated


class Hand:
    """A module of this package in a process, told once what it works on, until its `with` ends.

    Its `main` reads the first message, and answers each later one with one.
    """

    def __init__(self, module: str, given: bytes) -> None:
        self._module, self._given = module, given

    def __enter__(self) -> Hand:
        self._process = isolated(self._module, quiet=True)
        with suppress(OSError):  # one that has died is found when it is asked
            self._send(self._given)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        end(self._process)

    def _send(self, data: bytes) -> None:
        if self._process.stdin is not None:
            send(self._process.stdin, data)

    def ask(self, question: bytes) -> bytes | None:
        """Its answer; `None` if it ended instead."""
        with suppress(OSError):
            self._send(question)
            return None if self._process.stdout is None else receive(self._process.stdout)
        return None
