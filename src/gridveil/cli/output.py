"""How every command speaks: an object or a table on stdout, errors as sentences on stderr, documented exit codes."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from traceback import extract_tb
from typing import Any

from rich.console import Console
from rich.markup import escape

from gridveil.errors import CertificateFailed, GridVeilError, RepairFailed, SolveError

INTERNAL = "INTERNAL: compares with the original network; not for publication"

# no emoji: a path such as root:x:0 is printed as it is
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    INTERNAL = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    NOT_SOLVED = 4
    CHECK_FAILED = 5


EXIT_HELP = (
    "Exit codes: 0 done; 1 internal failure; 2 bad input or usage; 3 infeasible; 4 not solved or not repaired; "
    "5 a check failed."
)


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
    except (GridVeilError, MemoryError, KeyboardInterrupt) as error:
        code = _exit_code(error)
        message = str(error) or ("out of memory" if isinstance(error, MemoryError) else "interrupted")
        _report(as_json, code, message)
    except Exception as error:  # the last resort
        if os.environ.get("GRIDVEIL_DEBUG"):
            raise
        _report(
            as_json, Exit.INTERNAL,
            f"internal failure, {_what(error)}; set GRIDVEIL_DEBUG=1 for details and report it",
        )  # fmt: skip


def _what(error: Exception) -> str:
    """What failed and where; words that nobody foresaw may quote what is protected, those of the system do not."""
    if isinstance(error, OSError | ImportError):
        return f"{type(error).__name__}: {error}"
    place = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"


def _flush() -> None:
    """Meet a closed pipe or a full disk here, where it can be reported, not when Python shuts down."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - lives as long as the process
        raise


def _exit_code(error: BaseException) -> Exit:
    if isinstance(error, SolveError):
        return {"no_solver": Exit.INTERNAL, "bad_option": Exit.BAD_INPUT}.get(error.status, Exit.NOT_SOLVED)
    if isinstance(error, RepairFailed | CertificateFailed):
        return Exit.NOT_SOLVED if isinstance(error, RepairFailed) else Exit.CHECK_FAILED
    return Exit.BAD_INPUT if isinstance(error, GridVeilError) else Exit.INTERNAL


def _report(as_json: bool, code: Exit, message: str) -> None:
    with suppress(OSError, AttributeError):  # there may be no one left to tell
        if as_json:
            print_json({"status": "error", "exit_code": int(code), "error": message})
            _flush()
    with suppress(OSError, AttributeError, UnicodeError):
        err.print("[bold red]error:[/] " + escape(message.replace("\n", " ")), soft_wrap=True)
    raise SystemExit(int(code))
