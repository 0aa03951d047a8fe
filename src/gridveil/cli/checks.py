"""Checks on the screen, for `release` and `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from gridveil.cli.output import out
from gridveil.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gridveil.wall.certificate import Check, UnusedStep


def value(check: Check, form: str) -> str:
    """A check's value, or a dash where it has none."""
    return "–" if check.value is None else f"{check.value:{form}}"


def mark(passed: bool) -> str:
    """Whether it holds."""
    return "[green]✓[/]" if passed else "[red]✗[/]"


def check_rows(checks: Sequence[Check]) -> Table:
    """A table of checks."""
    from gridveil.wall.certificate import worst_of_steps

    table = Table("", "check", "value", "limit", title_justify="left")
    for check in worst_of_steps(checks):
        table.add_row(mark(check.passed), escape(check.name), value(check, ".3g"), f"{check.limit:.4g}")
    return table


def print_unused(steps: Sequence[UnusedStep]) -> None:
    """One line on the steps without a promise."""
    if not steps:
        return
    solved = [one for one in steps if one.status == Status.OPTIMAL]
    text = f"unused steps (reported, not promised): {len(solved)} of {len(steps)} are AC-feasible"
    if known := [one.away for one in solved if one.away is not None]:
        text += f", their costs at most {max(known):.2%} from the public ones"
    out.print(f"[dim]{text}[/]")
