"""`gridveil leakcheck ORIGINAL RELEASED...`: what readers of one or several releases could learn of the true lines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.exits import Exit
from gridveil.cli.options import JsonOption
from gridveil.cli.output import INTERNAL, out, print_json, reporting
from gridveil.errors import OtherFormat, ReleaseError

if TYPE_CHECKING:
    from gridveil.casefile import Case
    from gridveil.check.leaks.verdict import Error, LeakReport
    from gridveil.publish.manifest import Manifest


def leakcheck(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The true network: a file or a shipped case.")],
    released: Annotated[
        list[str], typer.Argument(metavar="RELEASED...", help="Released files, or directories of releases.")
    ],
    as_json: JsonOption = False,
) -> None:
    """For the operator: how well attackers with public data tell the true lines from RELEASED. The output is INTERNAL.

    The last line is the verdict. [bold]clean[/]: nobody does much better than the noise. [bold]weak[/]: an attacker is
    off by less than 0.8 of what the noise alone leaves. [bold]leaks[/]: true numbers can be read off.
    """
    with reporting(as_json):
        from gridveil.check.leaks.leakcheck import leakcheck as check_leaks
        from gridveil.formats.find import read_case

        found = [_released(one) for one in released]
        report = check_leaks(read_case(original), [case for case, _ in found], [record for _, record in found])
        if as_json:
            print_json({"stamp": INTERNAL, **asdict(report)})
        else:
            _print(report)
    raise SystemExit(int(Exit.OK if report.verdict == "clean" else Exit.CHECK_FAILED))


def _released(name: str) -> tuple[Case, Manifest | None]:
    """A released case and its manifest, if one stands beside it."""
    from gridveil.casefile.read import read_bytes
    from gridveil.formats.find import read_case
    from gridveil.publish.archive import read_bundle
    from gridveil.publish.bundle import MANIFEST, NETWORK, is_archive

    if is_archive(Path(name)):
        files = read_bundle(name).files
        return read_bytes(f"{name}/{NETWORK}", files.get(NETWORK, b"")), _manifest(name, files[MANIFEST])
    path = Path(name) / NETWORK if Path(name).is_dir() else Path(name)
    beside = path.with_name(MANIFEST)
    if path.name != NETWORK or not beside.is_file():
        return read_case(str(path)), None
    return read_case(str(path)), _manifest(str(beside), beside.read_bytes())


def _manifest(name: str, data: bytes) -> Manifest:
    from gridveil.publish.manifest import read_manifest

    try:
        return read_manifest(data)
    except OtherFormat:
        raise
    except ReleaseError as error:
        raise ReleaseError(f"{name} cannot be read as a manifest ({error}); check the release with verify") from error


def _print(report: LeakReport) -> None:
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
    out.print(escape(report.reason), soft_wrap=True)
    out.print(report.verdict)


def _words(error: Error) -> str:
    if error.lines == 0:
        return "–"
    return f"{error.median:.1%} ({error.within_1_percent:.0%}, {error.within_10_percent:.0%})"
