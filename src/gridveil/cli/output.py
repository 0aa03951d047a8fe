"""How every command speaks: an object or a table on stdout, errors as sentences on stderr, documented exit codes."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.markup import escape

from gridveil.cli.exits import Exit
from gridveil.cli.process import open_streams
from gridveil.errors import CertificateFailed, GridVeilError, OtherFormat, RepairFailed, SolveError, Spent, unforeseen
from gridveil.requests import Ended

open_streams()

# no emoji: a path such as root:x:0 is printed as it is
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)


def print_json(record: Mapping[str, Any]) -> None:
    """Print one object in ASCII; numbers that JSON does not have (infinite, NaN) become null."""
    sys.stdout.write(json.dumps(_plain(record), allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def reporting(as_json: bool) -> Iterator[None]:
    """Turn every error into a sentence and an exit code; a traceback only if GRIDVEIL_DEBUG is set."""
    try:
        yield
        _flush()
    except (GridVeilError, MemoryError, KeyboardInterrupt, Ended) as error:
        code = _exit_code(error)
        message = str(error) or ("out of memory" if isinstance(error, MemoryError) else "interrupted")
        spent: dict[str, Any] = {}
        if isinstance(error, Spent):
            spent = {"entries": list(error.entries), "loss": error.loss, "reason": error.reason}
        _report(as_json, code, message, spent)
    except Exception as error:  # the last resort
        if os.environ.get("GRIDVEIL_DEBUG"):
            raise
        _report(
            as_json, Exit.INTERNAL,
            f"internal failure, {unforeseen(error)}; set GRIDVEIL_DEBUG=1 for details and report it",
        )  # fmt: skip


@contextmanager
def telling() -> Iterator[None]:
    """Words about what is done already: that nobody can read them changes nothing of it."""
    try:
        yield
        _flush()
    except (Exception, SystemExit):  # noqa: BLE001 - full, closed, broken (Rich then exits), no memory: all the same
        say("[bold]it is done[/], but what there is to say of it could not be printed")
    with suppress(OSError, ValueError):
        _flush()


def say(text: str) -> None:
    """A line on stderr; that nobody can read it changes nothing."""
    with suppress(OSError, ValueError, SystemExit):
        err.print(text, soft_wrap=True)


def _flush() -> None:
    """Meet a closed pipe or a full disk here, where it can be reported, not when Python shuts down."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - lives as long as the process
        raise


def _exit_code(error: BaseException) -> Exit:
    if isinstance(error, SolveError):
        return {"no_solver": Exit.INTERNAL, "bad_option": Exit.BAD_INPUT}.get(error.status, Exit.NOT_SOLVED)
    if isinstance(error, Spent):
        return Exit.SPENT
    if isinstance(error, OtherFormat):
        return Exit.OTHER_FORMAT
    if isinstance(error, RepairFailed | CertificateFailed):
        return Exit.NOT_SOLVED if isinstance(error, RepairFailed) else Exit.CHECK_FAILED
    return Exit.BAD_INPUT if isinstance(error, GridVeilError) else Exit.INTERNAL


def _report(as_json: bool, code: Exit, message: str, more: Mapping[str, Any] | None = None) -> None:
    with suppress(OSError, AttributeError):  # there may be no one left to tell
        if as_json:
            print_json({"status": "error", "exit_code": int(code), "error": message, **(more or {})})
            _flush()
    with suppress(OSError, AttributeError, UnicodeError):
        err.print("[bold red]error:[/] " + escape(message.replace("\n", " ")), soft_wrap=True)
    raise SystemExit(int(code))
