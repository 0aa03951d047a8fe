"""How a release gets to its place: once it is paid for, nothing but the place itself can keep it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from gridveil.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gridveil.publish.manifest import Publisher
    from gridveil.publish.release import Release


def delivery(
    context: typer.Context,
    target: Path,
    who: Publisher | None,
    page: Callable[[Release], str] | None,
    formats: Sequence[str],
    how: Any,
) -> tuple[Callable[[Release], None], list[Path]]:
    """What takes a release to its place, and where that was in the end."""
    from gridveil.publish import bundle
    from gridveil.publish.translations import translations

    written = list[Path]()

    def deliver(made: Release) -> None:
        extra: dict[str, str | bytes] = {}
        made = made.published_by(who)
        try:
            if page is not None:
                extra[bundle.REPORT] = page(made)
        except Exception as error:  # noqa: BLE001 - the privacy is spent: it is written even without its report
            say(f"[bold yellow]the report could not be made[/] ({escape(str(error))}); the release has none")
        try:
            extra |= translations(made.text.encode(), formats)
        except Exception as error:  # noqa: BLE001 - as above
            say(f"[bold yellow]it is not in other formats[/] ({escape(str(error))}); 'gridveil convert' can try again")
        written.append(made.deliver(target, extra=extra, **how))
        if context.obj is not None:  # where this command is the process: the rest is words
            context.obj()
        if written != [target]:
            say(f"[bold yellow]{escape(str(target))} was taken meanwhile[/]: it is at {escape(str(written[0]))}")

    return deliver, written
