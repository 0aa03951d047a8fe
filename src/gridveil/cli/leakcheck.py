"""`gridveil leakcheck ORIGINAL RELEASED...`: what readers of one or several releases could learn of true numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.exits import Exit
from gridveil.cli.options import JsonOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.internal import INTERNAL

if TYPE_CHECKING:
    from gridveil.casefile import Case
    from gridveil.check.leaks.groups import GroupReport
    from gridveil.check.leaks.rule import Error
    from gridveil.check.leaks.verdict import LeakReport
    from gridveil.publish.manifest import Manifest

HEADS = {"pd": "p", "qd": "q"}
"""Of columns, where they are not a quantity's own name."""


def leakcheck(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The true network: a file or a shipped case.")],
    released: Annotated[
        list[str], typer.Argument(metavar="RELEASED...", help="Released files, or directories of releases.")
    ],
    page: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="An INTERNAL page too, .html: every number before and after."),
    ] = None,
    coordinates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where buses stand on that page's map: a CSV of bus,x,y. Never published."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing page.")] = False,
    as_json: JsonOption = False,
) -> None:
    """For the operator: how well attackers with public data tell true numbers from RELEASED. The output is INTERNAL.

    The last line is the verdict. [bold]clean[/]: nobody does much better than the noise. [bold]weak[/]: an attacker is
    off by less than 0.8 of what the noise alone leaves. [bold]leaks[/]: true numbers can be read off.
    """
    with reporting(as_json):
        from gridveil.check.leaks.files import read_released
        from gridveil.check.leaks.leakcheck import leakcheck as check_leaks
        from gridveil.errors import ReportError
        from gridveil.formats.find import read_case

        if coordinates is not None and page is None:
            raise ReportError("--coordinates is for the map of a page; name the page with --out FILE.html")
        found = [read_released(one) for one in released]
        truth = read_case(original)
        report = check_leaks(truth, [case for case, _ in found], [record for _, record in found])
        if page is not None:
            _write_page(page, truth, *found[0], report, coordinates, force=force)
        if as_json:
            record = {"stamp": INTERNAL, **asdict(report)}
            print_json({key: value for key, value in record.items() if value or key not in ("groups", "unjudged")})
        else:
            _print(report)
    raise SystemExit(int(Exit.OK if report.verdict == "clean" else Exit.CHECK_FAILED))


def _write_page(
    page: Path,
    truth: Case,
    released: Case,
    record: Manifest | None,
    report: LeakReport,
    coordinates: Path | None,
    *,
    force: bool,
) -> None:
    """The page of the first release, with what all of them together tell."""
    from gridveil.casefile.to_network import to_network
    from gridveil.publish.manifest import protection_of
    from gridveil.report.internal import write_internal
    from gridveil.report.maps.coordinates import read_coordinates

    protection, network = None if record is None else protection_of(record), to_network(released)
    places = None if coordinates is None else read_coordinates(coordinates, network.grid)
    write_internal(page, to_network(truth), network, protection, report, force=force, coordinates=places)


def _print(report: LeakReport) -> None:
    if report.attackers:
        _print_lines(report)
    if report.groups:
        _print_groups(report.groups)
    if report.unjudged:
        out.print(
            f"Changed, but not judged, since no manifest says how: {', '.join(report.unjudged)}. Give the directory of "
            "the release, or its .zip.", soft_wrap=True,
        )  # fmt: skip
    out.print(escape(report.reason), soft_wrap=True)
    out.print(report.verdict)


def _print_groups(groups: tuple[GroupReport, ...]) -> None:
    """A column per quantity: the noise's own error, that of every attacker, the best of them, and the verdict."""
    from gridveil.check.leaks.groups import attacker_words

    found = [one for group in groups for one in group.quantities]
    words = {name: text for name, text in attacker_words().items() if name in found[0].errors}
    table = Table(title=INTERNAL, title_style="bold red", title_justify="left")
    table.add_column("attacker")
    for one in found:
        table.add_column(HEADS.get(one.name, one.name), justify="right")
    table.add_row("how many", *(str(one.numbers) for one in found))
    table.add_row("the noise", *(f"{one.noise_error:.1%}" for one in found), end_section=True)
    for name in words:
        table.add_row(name, *(f"{one.errors[name].median:.1%}" for one in found), end_section=name == list(words)[-1])
    table.add_row("best", *(f"{one.best_error:.1%}" for one in found))
    table.add_row("verdict", *(one.verdict for one in found))
    out.print(table)
    out.print("Median relative errors. " + "; ".join(f"{name}: {text}" for name, text in words.items()) + ".")


def _print_lines(report: LeakReport) -> None:
    table = Table(title=INTERNAL, title_style="bold red", title_justify="left")
    for head in ("attacker", "lines", "r", "x", "bc", "what he does"):
        table.add_column(head, justify="right" if head in ("lines", "r", "x", "bc") else "left")
    for one in report.attackers:
        errors = (_words(error) for error in (one.r, one.x, one.bc))
        table.add_row(one.name, str(one.x.lines), *errors, one.words)
    out.print(table)
    out.print("Of r, x and bc: the median error, and the shares of lines within 1 % and 10 %.")
    if report.silent:
        out.print(f"Without a way here: {'; '.join(report.silent)}.")
    out.print(f"best attacker: {report.best_attacker}, {report.best_error:.2%}; the noise: {report.noise_error:.2%}")


def _words(error: Error) -> str:
    if error.lines == 0:
        return "–"
    return f"{error.median:.1%} ({error.within_1_percent:.0%}, {error.within_10_percent:.0%})"
