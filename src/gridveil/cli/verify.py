"""`gridveil verify BUNDLE`: what anybody can check of a release, what is its publisher's word, what nobody can check.

Also the command `gridveil-verify`, which needs no more than it uses: no SciPy, and with --quick no solver.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.checks import check_rows, print_unused
from gridveil.cli.exits import EXIT_HELP, Exit
from gridveil.cli.options import JsonOption, WorkersOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.cli.process import one_thread
from gridveil.cli.usage import OneCommand
from gridveil.internal import INTERNAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gridveil.check.steps import StepComparison
    from gridveil.check.verdict import Verdict


def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A release: its directory or .zip.")],
    publisher: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY.pub", help="The publisher's key, from him and not from the bundle: it must be signed by it."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Judge what is written and solve nothing; needs no solver.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(metavar="CASE", help="For the operator: compare every step with the original, too. INTERNAL."),
    ] = None,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Check a release without the secret: what you recompute, what is the publisher's word, what nobody can check.

    Exit 0 if all that was recomputed holds. That the release is private is the publisher's word in any case.
    """
    with reporting(as_json):
        from gridveil.report.verification import verify as verify_bundle

        verdict = verify_bundle(bundle, publisher=publisher, quick=quick, workers=workers)
        internal = _compared(bundle, against) if against is not None and verdict.passed else ()
        code = _exit(verdict)
        if as_json:
            print_json(
                _record(verdict, code)
                | ({"stamp": INTERNAL, "steps": [asdict(one) for one in internal]} if internal else {})
            )
        else:
            _print(verdict)
            if internal:
                _print_steps(internal)
            elif against is not None:
                out.print("[dim]not compared with the original: the release is not verified[/]")
            style = {Exit.OK: "green", Exit.NOT_PRIVATE: "bold red"}.get(code, "bold red")
            out.print(f"{escape(str(bundle))}: [{style}]{escape(verdict.sentence)}[/]", soft_wrap=True)
    raise SystemExit(int(code))


def _compared(bundle: Path, against: str) -> Sequence[StepComparison]:
    from gridveil.check.steps import compare_steps
    from gridveil.formats.find import load

    return compare_steps(load(against), bundle)


def _exit(verdict: Verdict) -> Exit:
    if not verdict.passed:
        return Exit.CHECK_FAILED
    return Exit.OK if verdict.private else Exit.NOT_PRIVATE


def _record(verdict: Verdict, code: Exit) -> dict[str, Any]:
    from gridveil.wall.codec import to_plain

    status = {Exit.OK: "verified", Exit.NOT_PRIVATE: "not private"}.get(code, "rejected")
    recomputed = [{**to_plain(one), "name": one.name, "meaning": one.meaning} for one in verdict.checks]
    return {
        "status": status,
        "exit_code": int(code),
        "sentence": verdict.sentence,
        "recomputed": recomputed,
        "word": verdict.word,
        "not_checkable": list(verdict.not_checkable),
        "not_checked": list(verdict.not_checked),
        "signature": {"state": verdict.signature.state.name.lower(), "fingerprint": verdict.signature.fingerprint,
                      "words": verdict.signature.words},
        "manifest": to_plain(verdict.record),
        "unused_steps": to_plain(verdict.unused),
        "truth": to_plain(verdict.truth),
    }  # fmt: skip


def _print(verdict: Verdict) -> None:
    out.print("[bold]Recomputed by you[/]")
    out.print(check_rows(verdict.checks))
    print_unused(verdict.unused)
    if verdict.not_checked:
        out.print("[bold]Not checked here[/], though it can be")
        _print_list(verdict.not_checked)
    if verdict.word:
        out.print("[bold]The publisher's word[/], which nothing here confirms")
        table = Table.grid(padding=(0, 2))
        for name, words in verdict.word.items():
            table.add_row(f"  {name}", escape(words))
        out.print(table)
    out.print("[bold]Not checkable[/] by anyone who has only the bundle")
    _print_list(verdict.not_checkable)
    out.print(f"[bold]Signature[/]: {escape(verdict.signature.words)}", soft_wrap=True)


def _print_list(lines: Sequence[str]) -> None:
    for one in lines:
        out.print(f"  - {escape(one)}", soft_wrap=True)


def _print_steps(steps: Sequence[StepComparison]) -> None:
    table = Table(
        "step", "", "cost of the original", "cost of the release", "", title=INTERNAL, title_style="bold red",
        title_justify="left",
    )  # fmt: skip
    for one in steps:
        away = f"{one.away:+.2%}" if one.away is not None else one.status
        released = f"{one.released_cost:,.2f}" if one.away is not None else "–"
        table.add_row(str(one.step), "promised" if one.used else "", f"{one.true_cost:,.2f}", released, away)
    out.print(table)


def main() -> None:
    """Run this command alone."""
    one_thread()
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    app.command(cls=OneCommand, epilog=EXIT_HELP)(verify)
    app()


if __name__ == "__main__":
    main()
