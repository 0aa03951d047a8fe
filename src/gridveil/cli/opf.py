"""`gridveil opf CASE`: the AC optimal power flow of a case, or a relaxation of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.exits import Exit
from gridveil.cli.options import CaseArgument, JsonOption
from gridveil.cli.output import err, out, print_json, reporting
from gridveil.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gridveil.conic.relaxation import Formulation, Relaxation
    from gridveil.grid import Network
    from gridveil.nlp.opf import Solution
    from gridveil.nlp.solver import Progress, SolverOptions


def opf(
    case: CaseArgument,
    as_json: JsonOption = False,
    formulation: Annotated[
        str, typer.Option(metavar="NAME", help="ac; or soc, qc, qc-lambda: a proven lower bound of the cost.")
    ] = "ac",
    full: Annotated[
        bool, typer.Option("--full", help="With --json: add the values of every bus, generator and line.")
    ] = False,
    max_iterations: Annotated[int, typer.Option(min=1, help="Iteration limit of each start.")] = 500,
    max_seconds: Annotated[float | None, typer.Option(min=0.0, help="Time limit of each start.")] = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME", envvar="GRIDVEIL_SOLVER", help="own, ipopt, or auto: our own, and Ipopt where that fails."
        ),
    ] = "auto",
    ipopt: Annotated[
        str | None, typer.Option(metavar="FILE", envvar="GRIDVEIL_IPOPT", help="Another libipopt.")
    ] = None,
    linear_solver: Annotated[
        str, typer.Option(metavar="NAME", envvar="GRIDVEIL_LINEAR_SOLVER", help="Its linear solver, such as ma57.")
    ] = "mumps",
) -> None:
    """Solve the AC optimal power flow of CASE and check the result independently."""
    with reporting(as_json):
        from gridveil.formats.find import load, read_case
        from gridveil.nlp.opf import opf_model, solve_opf
        from gridveil.nlp.solver import SolverOptions

        options = SolverOptions(
            max_iterations=max_iterations, max_seconds=max_seconds, solver=solver, library=ipopt,
            linear_solver=linear_solver,
        )  # fmt: skip
        network = load(read_case(case))
        if formulation != "ac":
            _relaxed(case, network, formulation, options, as_json)
        with _progress(as_json) as progress:
            solution = solve_opf(opf_model(network.grid), network.lines, options=options, progress=progress)
        if as_json:
            print_json(_record(case, network, solution, full))
        else:
            _print_table(case, network, solution)
    raise SystemExit(int(_EXIT.get(solution.status, Exit.NOT_SOLVED)))


def _relaxed(case: str, network: Network, formulation: str, options: SolverOptions, as_json: bool) -> NoReturn:
    from gridveil.api.solving import solve_opf

    solved = solve_opf(network, options=options, formulation=cast("Formulation", formulation))
    if as_json:
        print_json({"case": case, **relaxation_record(solved), "buses": network.grid.n_bus})
    else:
        name = solved.formulation.upper()
        table = Table(title=f"{name} relaxation of {escape(case)}", show_header=False, title_justify="left")
        table.add_column(style="dim")
        table.add_column()
        table.add_row("status", f"[{_COLOUR.get(solved.status, 'red')}]{solved.status}[/] ({solved.detail})")
        if solved.status is Status.OPTIMAL:
            table.add_row("bound", f"[bold]{solved.bound:,.2f}[/] per hour: no dispatch costs less")
        table.add_row("effort", f"{solved.iterations} iterations, {solved.seconds:.3f} s")
        out.print(table)
    raise SystemExit(int(_EXIT.get(solved.status, Exit.NOT_SOLVED)))


def relaxation_record(solved: Relaxation) -> dict[str, Any]:
    """What JSON says of a relaxation; a bound is given where it is proven to be close to the optimum."""
    bound = solved.bound if solved.status is Status.OPTIMAL else None
    return {
        "formulation": solved.formulation,
        "status": str(solved.status),
        "detail": solved.detail,
        "cost": bound,
        "bound": bound,
        "iterations": solved.iterations,
        "seconds": solved.seconds,
    }


_EXIT = {Status.OPTIMAL: Exit.OK, Status.INFEASIBLE: Exit.INFEASIBLE}
_BY = {"own": "of our own solver", "ipopt": "of Ipopt"}
_COLOUR = {Status.OPTIMAL: "green", Status.INFEASIBLE: "yellow"}


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """A line that follows the iterations, on a terminal only."""
    if quiet or not err.is_terminal:
        yield None
        return
    with err.status("solving") as status:
        yield lambda k, infeasibility: status.update(f"solving: iteration {k}, infeasibility {infeasibility:.1e}")


def _record(case: str, network: Network, solution: Solution, full: bool) -> dict[str, Any]:
    solved = solution.status is Status.OPTIMAL
    record: dict[str, Any] = {
        "case": case,
        "formulation": "ac",
        "status": str(solution.status),
        "detail": solution.detail,
        "cost": solution.cost if solved else None,
        "iterations": solution.iterations,
        "attempts": solution.attempts,
        "solver": solution.solver,
        "fallbacks": solution.fallbacks,
        "seconds": solution.seconds,
        "seconds_evaluation": solution.seconds_evaluation,
        "seconds_linear_algebra": solution.seconds_linear_algebra,
        "max_violation": solution.violations.largest,
        "violations": asdict(solution.violations),
        "buses": network.grid.n_bus,
        "generators": network.grid.n_generator,
        "lines": network.grid.n_line,
    }
    if full and solved:
        point = solution.point
        names = ("vm", "va", "pg", "qg", "pf", "qf", "pt", "qt")
        record["point"] = {name: getattr(point, name).tolist() for name in names}
        record["multipliers"] = {name: values.tolist() for name, values in solution.multipliers.items()}
    return record


def _print_table(case: str, network: Network, solution: Solution) -> None:
    grid, base = network.grid, network.grid.base_mva
    worst = solution.violations
    table = Table(title=f"AC-OPF of {escape(case)}", show_header=False, title_style="bold", title_justify="left")
    table.add_column(style="dim")
    table.add_column()
    table.add_row("network", f"{grid.n_bus:,} buses, {grid.n_generator:,} generators, {grid.n_line:,} lines")
    table.add_row("status", f"[{_COLOUR.get(solution.status, 'red')}]{solution.status}[/] ({solution.detail})")
    if solution.status is Status.OPTIMAL:
        demand, made = float(grid.buses.pd.sum()) * base, float(solution.point.pg.sum()) * base
        table.add_row("cost", f"[bold]{solution.cost:,.2f}[/] per hour")
        table.add_row("generation", f"{made:,.1f} MW for {demand:,.1f} MW of demand")
        table.add_row("voltages", f"{solution.point.vm.min():.4f} to {solution.point.vm.max():.4f} p.u.")
    table.add_row("largest violation", f"{worst.largest:.1e} p.u., recomputed in complex arithmetic")
    share = solution.seconds_evaluation / max(solution.seconds, 1e-9)
    table.add_row(
        "effort",
        f"{solution.iterations} iterations {_BY[solution.solver]} from {solution.attempts} "
        f"start{'s' * (solution.attempts > 1)}, "
        f"{solution.seconds:.3f} s ({share:.0%} in functions and derivatives)",
    )
    out.print(table)
