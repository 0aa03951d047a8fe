"""`gridveil gap CASE`: the optimality gaps of the SOC and QC relaxations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from gridveil.cli.exits import Exit
from gridveil.cli.options import CaseArgument, JsonOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.status import Status

if TYPE_CHECKING:
    from gridveil.conic.gap import Gap

_EXIT = {Status.OPTIMAL: Exit.OK, Status.INFEASIBLE: Exit.INFEASIBLE}


def gap(
    case: CaseArgument,
    as_json: JsonOption = False,
    max_seconds: Annotated[float | None, typer.Option(min=0.0, help="Time limit of each solve.")] = None,
) -> None:
    """Compare the AC cost of CASE with what its SOC and QC relaxations prove about it."""
    with reporting(as_json):
        from gridveil.api.solving import gap as find_gap
        from gridveil.formats.find import read_case
        from gridveil.nlp.solver import SolverOptions

        found = find_gap(read_case(case), options=SolverOptions(max_seconds=max_seconds))
        if as_json:
            print_json(_record(case, found))
        else:
            _print_table(case, found)
    raise SystemExit(int(_EXIT.get(found.status, Exit.NOT_SOLVED)))


def _record(case: str, found: Gap) -> dict[str, Any]:
    record: dict[str, Any] = {
        "case": case,
        "status": str(found.status),
        "ac_cost": found.ac_cost if found.ac_status is Status.OPTIMAL else None,
        "ac_status": str(found.ac_status),
    }
    for name, relaxation, pct in (("soc", found.soc, found.soc_pct), ("qc", found.qc, found.qc_pct)):
        record[f"{name}_bound"] = relaxation.bound if relaxation.status is Status.OPTIMAL else None
        record[f"{name}_gap_pct"] = pct
        record[f"{name}_status"] = str(relaxation.status)
        record[f"{name}_detail"] = relaxation.detail
    return record


def _print_table(case: str, found: Gap) -> None:
    record = _record(case, found)
    table = Table(
        "", "cost or bound", "gap", "status", title=f"Optimality gaps of {escape(case)}", title_justify="left"
    )
    for name, value, pct in (
        ("ac", "ac_cost", None),
        ("soc", "soc_bound", "soc_gap_pct"),
        ("qc", "qc_bound", "qc_gap_pct"),
    ):
        number, share = record[value], None if pct is None else record[pct]
        table.add_row(
            name.upper(),
            "" if number is None else f"{number:,.2f}",
            "" if share is None else f"{share:.4f} %",
            record[f"{name}_status"],
        )
    out.print(table)
    if found.status is Status.INFEASIBLE and found.ac_status is not Status.OPTIMAL:
        proof = next((r for r in (found.soc, found.qc) if r.status is Status.INFEASIBLE), None)
        if proof is not None:
            out.print(f"no dispatch is feasible: {escape(proof.detail)} ({proof.formulation.upper()} relaxation)")
