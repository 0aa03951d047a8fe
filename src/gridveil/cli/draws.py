"""`gridveil draws CASE`: research draws by the thousand as one Parquet dataset; resumable. NOT private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from gridveil.cli.exits import Exit
from gridveil.cli.options import CaseArgument, CostsOption, JsonOption, LimitsOption, MissingCostOption
from gridveil.cli.output import err, out, print_json, reporting

if TYPE_CHECKING:
    from gridveil.study.drawn import State


def draws(
    case: CaseArgument,
    out_dir: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The dataset; if it is there, it is continued. Else 'draws'.")
    ] = Path("draws"),
    count: Annotated[int, typer.Option("-n", "--draws", min=1, help="Draws of each plan: one per seed.")] = 1000,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=A,B", help="Plans: every combination of the values, e.g. alpha=0.1,0.3."),
    ] = None,
    protect: Annotated[
        str, typer.Option(help="Which numbers: lines, ratings, loads, limits, costs (with commas), or all.")
    ] = "lines",
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Processes that draw.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="The first seed; the others follow it.")] = 0,
    costs: CostsOption = None,
    limits: LimitsOption = None,
    missing_cost: MissingCostOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No estimate and no progress bar.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Draw CASE many times with seeds, for machine learning and other research. NOT private: nothing is charged."""
    with reporting(as_json):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from gridveil.cli.release_options import given_case
        from gridveil.libraries import needed
        from gridveil.study.drawn import write_draws

        needed("pyarrow", "parquet")
        from gridveil.study.planned import plans_of

        plans = plans_of(settings or [], protect)
        given, _, _ = given_case(case, costs, limits, missing_cost)
        total = count * len(plans)
        loud = not (quiet or as_json)
        if loud:
            err.print(f"{total:,} draws: {len(plans)} plan(s), {count:,} seeds each → {escape(str(out_dir))}")
        bar = Progress(
            TextColumn("draws"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(), console=err, disable=not loud or not err.is_terminal,
        )  # fmt: skip
        with bar:
            line = bar.add_task("draws", total=total, note="starting")
            told = [not loud]

            def progress(state: State) -> None:
                if state.left is not None and not told[0]:
                    told[0] = True
                    bar.console.print(f"the other {total - state.done:,} will take {_duration(state.left)}")
                bar.update(line, completed=state.done, note=f"{state.failed:,} not certified" if state.failed else "")

            made = write_draws(
                given, plans, out_dir, count, first_seed=first_seed, workers=workers, progress=progress
            )  # fmt: skip
        record = made.manifest
        if as_json:
            print_json({"status": "done", "out": str(out_dir), **record.draws, "plans": len(record.plans)})
        else:
            out.print(
                f"{record.draws['made']:,} draws of {len(record.plans)} plan(s), {record.draws['certified']:,} "
                f"certified → {escape(str(out_dir))}\n"
                "[bold]research, NOT private[/]: manifest.json says of what, and has every column with its unit"
            )
    if record.draws["made"] and not record.draws["certified"]:
        raise SystemExit(int(Exit.NOT_SOLVED))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
