"""What a command says and asks before it spends, and while it works."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from gridveil.cli.output import err, say
from gridveil.privacy.ledger import Ledger, default_path
from gridveil.privacy.limit import DEFAULT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gridveil.publish.preview import Preview

SECONDS = 10.0
"""Between lines about work that goes on, where there is no terminal."""


def open_ledger(path: Path | None, as_json: bool) -> Ledger:
    """The ledger; a first release makes one, and says where it is and what the limit is."""
    where = path or default_path()
    fresh = not Ledger.exists(where)
    book = Ledger.open(where)
    if fresh:
        say(
            f"[bold]a new ledger[/] was made: {escape(str(book.path))}, with its key beside it. Keep both, and backups "
            f"('gridveil ledger backup'). No line may spend more than {DEFAULT_LIMIT:g} unless you say so with "
            "'gridveil ledger set-limit'"
        )
    if book.unguarded:
        say(f"the file system of {escape(str(book.path))} has no modes: see to it that nobody else gets at it")
    if not fresh and path is None and not as_json:
        say(f"using the ledger {escape(str(book.path))}")
    return book


def ask(preview: Preview, *, yes: bool, as_json: bool) -> bool:
    """Say what will be spent; what looks like a slip is said, and asked on a terminal. Whether it was confirmed."""
    if not as_json:
        limit = preview.after.largest_limit
        most = "" if limit is None else f" of {limit:.6g}"
        say(f"spent on this network: {preview.before.largest:.6g} → at most {preview.after.largest:.6g}{most}")
    if as_json or preview.refused or not preview.questions:
        return yes
    if not yes and not (sys.stdin.isatty() and err.is_terminal):
        return False
    for question in preview.questions:
        say(f"[bold yellow]{'!' if yes else '?'}[/] {escape(question)}")
    if yes:
        return True
    try:
        return typer.confirm("spend it?", err=True)
    except typer.Abort:  # Ctrl-C or the end of the input
        return False


def agreed(preview: Preview, *, yes: bool, as_json: bool) -> bool:
    """The same, and refused here if it was not: the pipeline does not know what a format put into shunts."""
    confirmed = ask(preview, yes=yes, as_json=as_json)
    preview.require(confirmed=confirmed)
    return confirmed


@contextmanager
def stages(as_json: bool) -> Iterator[Callable[[str], None]]:
    """Say what a release is at: a line that changes on a terminal, plain lines with the time elsewhere."""
    begin = monotonic()
    if as_json:
        yield lambda stage: None
    elif err.is_terminal:
        with err.status("releasing") as status:
            yield lambda stage: status.update(f"{escape(stage)} ({monotonic() - begin:.0f} s)")
    else:
        last = begin

        def tell(stage: str) -> None:
            nonlocal last
            if not stage.startswith("working: ") or monotonic() - last > SECONDS:
                last = monotonic()
                say(f"{last - begin:7.1f} s  {escape(stage)}")

        yield tell
