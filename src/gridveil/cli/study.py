"""`gridveil study NAME`: run a table or figure of the paper, or one of ours; resumable."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.exits import Exit
from gridveil.cli.options import JsonOption
from gridveil.cli.output import err, out, print_json, reporting
from gridveil.errors import StudyError

if TYPE_CHECKING:
    from gridveil.study.declare import Setting, Study
    from gridveil.study.runner import Summary

TlsOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Credentials for the scheduler (PEM).")]


def study(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which study; none lists them.")] = None,
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory of results.")] = Path("results"),
    cases: Annotated[
        list[str] | None, typer.Option("--cases", help="Shipped cases or files, several times or with commas.")
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Draws of each combination of settings.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=A,B", help="Other values of a setting, e.g. alpha=0.1,1.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes of the local cluster.")] = 2,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="An existing Dask scheduler, e.g. tls://host:8786.")
    ] = None,
    tls_ca: TlsOption = None,
    tls_cert: TlsOption = None,
    tls_key: TlsOption = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Use a scheduler without TLS, which only you can reach.")
    ] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed tasks again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run study NAME; run the same command again to continue. Results compare with the truth: INTERNAL."""
    with reporting(as_json):
        if name is None:
            _print_studies(as_json)
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from gridveil.study.catalogue import study as find

        chosen = find(name)
        try:
            from gridveil.study.cluster import credentials_of
            from gridveil.study.runner import run_study
        except ImportError as missing:
            raise StudyError(f"studies need {missing.name}; install gridveil[study]") from None
        files = [part.strip() for case in cases or [] for part in case.split(",") if part.strip()] or None
        given = _settings(chosen, settings or [])
        bar = Progress(
            TextColumn(chosen.name), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(), console=err, disable=quiet or as_json or not err.is_terminal,
        )  # fmt: skip
        with bar:
            line = bar.add_task(chosen.name, total=None, note="starting")

            def progress(done: int, total: int, failed: int) -> None:
                speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
                note = (f"{speed:.2g}/s" if speed else "") + (f" {failed} failed" if failed else "")
                bar.update(line, completed=done, total=total, note=note)

            made = run_study(
                chosen, out_dir, files, draws, given, workers, scheduler, credentials_of(tls_ca, tls_cert, tls_key),
                insecure=insecure, retry_failed=retry_failed, progress=progress,
            )  # fmt: skip
        if as_json:
            print_json({"status": "done", **asdict(made)})
        else:
            _print_summary(made)
    if made.run and made.failed == made.run:
        raise SystemExit(int(Exit.NOT_SOLVED))


def _settings(study: Study, given: list[str]) -> dict[str, tuple[Setting, ...]]:
    """Values for settings, of the type that the study's own have."""
    result: dict[str, tuple[Setting, ...]] = {}
    for text in given:
        name, _, values = text.partition("=")
        if name not in study.settings:
            raise StudyError(f"the study '{study.name}' has no setting '{name}'; it has {', '.join(study.settings)}")
        kind = type(study.settings[name][0])
        try:
            result[name] = tuple(kind(value) for value in values.split(",") if value)
        except ValueError:
            raise StudyError(f"'{text}' cannot be read; write {name}=A,B with {kind.__name__} values") from None
        if not result[name]:
            raise StudyError(f"'{text}' gives no value; write {name}=A,B")
    return result


def _print_studies(as_json: bool) -> None:
    from gridveil.study.catalogue import STUDIES

    if as_json:
        names = [
            {"name": one.name, "title": one.title, "paper": one.paper, "draws": one.draws} for one in STUDIES.values()
        ]
        print_json({"studies": names})
        return
    table = Table("study", "paper", "what it shows", "cases", title_justify="left")
    for one in STUDIES.values():
        table.add_row(one.name, one.paper, one.title, escape(", ".join(one.cases)))
    out.print(table)


def _print_summary(made: Summary) -> None:
    rate = f", {made.run / made.seconds:.3g} tasks/s" if made.run and made.seconds else ""
    out.print(
        f"{made.study}: {made.run} tasks run in {made.seconds:.1f} s{rate}; {made.done_before} were done before; "
        f"{made.failed} failed → {escape(made.out)}"
    )
    if made.first_error:
        err.print(f"[yellow]the first failure:[/] {escape(made.first_error)}")
    out.print(f"[dim]gridveil report {escape(made.out)} -o report.html shows them (INTERNAL)[/]")
