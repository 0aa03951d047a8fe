"""`gridveil attack CASE`: cut lines as an attacker would choose them, and see what load can be restored."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.attacks.attackers import ATTACKERS
from gridveil.cli.options import CaseArgument, JsonOption
from gridveil.cli.output import err, out, print_json, reporting
from gridveil.nlp.rules import Rules

if TYPE_CHECKING:
    from gridveil.attacks.attack import Attack
    from gridveil.grid import Network


def attack(
    case: CaseArgument,
    released: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A released network (.m) of CASE, for those who look at it.")
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Per cent of the lines that are cut, rounded up.")] = None,
    count: Annotated[int | None, typer.Option(help="The number of lines instead.")] = None,
    attacker: Annotated[str, typer.Option(help=f"One of: {', '.join(ATTACKERS)}.")] = "real",
    restoration: Annotated[str, typer.Option(help=f"One of: {', '.join(Rules)}.")] = Rules.SWITCHABLE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the attacker 'random'.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the damaged network (.svg or .png; needs matplotlib).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Cut lines of CASE and restore what load can be served; INTERNAL, for it needs the real network."""
    with reporting(as_json):
        from gridveil.api.threats import attack as make_attack
        from gridveil.formats.find import load, read_case

        network = load(read_case(case))
        seen = None if released is None else load(read_case(released))
        with err.status("attacking") if err.is_terminal and not as_json else nullcontext():
            made = make_attack(
                network, seen, attacker=attacker, budget=budget, count=count, restoration=restoration, seed=seed
            )
        if plot is not None:
            from gridveil.report.maps.network_map import draw_attack

            draw_attack(network, made.restoration, plot, f"{Path(case).stem}, attacker: {attacker}")
        if as_json:
            print_json(_record(case, network, made, restoration))
        else:
            _print_table(case, network, made, restoration)


def _record(case: str, network: Network, made: Attack, rules: str) -> dict[str, Any]:
    grid, base = network.grid, network.grid.base_mva
    ends = [grid.buses.number[ends[made.lines]].tolist() for ends in (grid.lines.bus_from, grid.lines.bus_to)]
    return {
        "case": case,
        "attacker": made.attacker,
        "restoration": str(rules),
        "status": str(made.status),
        "lines": (made.lines + 1).tolist(),
        "line_ends": [list(pair) for pair in zip(*ends, strict=True)],
        "load_mw": made.load_mw,
        "load_affected_mw": made.affected_mw,
        "load_restored_mw": made.restored_mw,
        "load_restored_percent": made.restored_percent,
        "load_restored_bound_mw": made.bound_mw,
        "similarity_percent": made.similarity,
        "excess_similarity_percent": made.excess,
        "max_violation": made.restoration.violations.largest,
        "islands": [
            {
                "status": str(one.ending),
                "detail": one.detail,
                "buses": grid.buses.number[one.buses].tolist(),
                "load_mw": one.load * base,
                "restored_mw": one.served * base,
                "bound_mw": one.bound * base,
            }
            for one in made.restoration.islands
        ],
    }


def _print_table(case: str, network: Network, made: Attack, rules: str) -> None:
    from gridveil.nlp.restoration import Ending

    colour = {Ending.OPTIMAL: "green", Ending.FALLBACK: "yellow"}.get(made.status, "red")
    grid = network.grid
    number = grid.buses.number
    table = Table(title=f"attack on {escape(case)}", show_header=False, title_style="bold", title_justify="left")
    table.add_column(style="dim")
    table.add_column()
    table.add_row("attacker", made.attacker)
    cut = [f"{number[grid.lines.bus_from[k]]}-{number[grid.lines.bus_to[k]]}" for k in made.lines]
    shown = ", ".join(cut if len(cut) <= 30 else [*cut[:30], "… (all of them with --json)"])
    table.add_row("lines cut", f"{len(cut)} of {grid.n_line}: {shown}")
    table.add_row(
        "like the real flow attack",
        f"{made.similarity:.0f} % of its lines, {made.excess:+.0f} over who knows the topology alone",
    )
    table.add_row("restoration", f"{rules}: [{colour}]{made.status}[/]")
    table.add_row("load affected", f"{made.affected_mw:,.1f} of {made.load_mw:,.1f} MW")
    table.add_row(
        "load restored",
        f"[bold]{made.restored_mw:,.1f} MW, {made.restored_percent:.1f} %[/] (at most {made.bound_mw:,.1f} MW)",
    )
    dark = sum(one.ending is Ending.DARK for one in made.restoration.islands)
    table.add_row("islands", f"{int(made.restoration.island.max(initial=-1)) + 1}, {dark} of them dark")
    table.add_row("largest violation", f"{made.restoration.violations.largest:.1e} p.u., recomputed independently")
    out.print(table)
