"""`gridveil exposure CASE`: how well a private dispatch cost protects each corridor, and private totals each load and
plant. INTERNAL."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from gridveil.cli.options import CaseArgument, JsonOption
from gridveil.cli.output import err, out, print_json, reporting
from gridveil.cli.totals_table import print_totals, totals_record
from gridveil.errors import PrivacyError
from gridveil.wall.facts import SENSITIVITY, SHARE

if TYPE_CHECKING:
    from gridveil.check.exposure import Exposure
    from gridveil.check.totals_exposure import TotalsExposure
    from gridveil.grid import Network
    from gridveil.publish.plan import Plan

STAMP = "INTERNAL: computed from the original network; not for publication"
WARNING = "choosing s by this table makes s depend on the secret, which is a disclosure that no ledger counts"


def exposure(
    case: CaseArgument,
    alpha: Annotated[
        str, typer.Option(help="The change of a corridor, relative, as for the mechanism log: 0.1 or 10%.")
    ] = "0.1",
    sensitivity: Annotated[float, typer.Option("--s", help="s of a private cost.")] = SENSITIVITY,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of a release.")] = 1.0,
    share: Annotated[float, typer.Option(help="Share of it for the cost.")] = SHARE,
    protect: Annotated[
        str | None,
        typer.Option(help="Groups of a joint release, such as loads,limits,costs or all: what their totals tell, too."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """For the operator: which corridors move the dispatch cost by how much, and what a private cost then protects; with
    --protect also which loads and plants move total demand, capacity and merit-order cost."""
    with reporting(as_json):
        for name, value in (("s", sensitivity), ("share", share)):
            if not 0 < value < 1:
                raise PrivacyError(f"{name} = {value:g} must lie between 0 and 1")
        from gridveil.publish.values import share_value

        reach = share_value("alpha", alpha)
        if not (0 < reach <= 10 and 0 < epsilon < float("inf")):
            raise PrivacyError("alpha must lie between 0 and 10, and epsilon be positive")
        from gridveil.check.exposure import exposure as exposed
        from gridveil.formats.find import load

        network = load(case)
        plan = None if protect is None else _plan(epsilon, reach, protect)
        with err.status("solving neighbours") if err.is_terminal else nullcontext():
            found = exposed(network, reach)
            totals = None if plan is None else _of_totals(network, plan)
        if as_json:
            record = _record(found, sensitivity, share * epsilon)
            if plan is not None and totals is not None:
                record["totals"] = totals_record(totals, plan.totals_sensitivity, plan.epsilon_totals)
            print_json(record)
        else:
            _print(found, sensitivity, share * epsilon)
            if plan is not None and totals is not None:
                print_totals(totals, plan.totals_sensitivity, plan.epsilon_totals, sensitivity)


def _plan(epsilon: float, alpha: float, protect: str) -> Plan:
    """A joint release with private totals and cost."""
    from gridveil.publish.plan import Plan

    return Plan(epsilon, alpha, 0.01, protect=protect)


def _of_totals(network: Network, plan: Plan) -> TotalsExposure | None:
    from gridveil.check.totals_exposure import totals_exposure

    return totals_exposure(network, plan) if plan.asked_totals else None


def _record(found: Exposure, s: float, epsilon_cost: float) -> dict[str, object]:
    from gridveil.check.exposure import SHARES

    worst = (-found.moved).argsort(kind="stable")
    return {
        "stamp": STAMP,
        "warning": WARNING,
        "alpha": found.alpha,
        "s": s,
        "corridors": len(found.moved),
        "solved": int(found.solved.sum()),
        "covered": found.covered(s),
        "worst_loss": found.loss(s, epsilon_cost),
        "loss_95": found.loss(s, epsilon_cost, 0.95),
        "moves_declared_cost": found.declared,
        "infeasible": [list(found.ends[i]) for i in found.infeasible],
        "table": [{"s": one, "covered": found.covered(one), "noise": one / epsilon_cost} for one in SHARES],
        "bottlenecks": [
            {"corridor": list(found.ends[i]), "moved": float(found.moved[i])} for i in worst if found.moved[i] > s
        ],
    }


def _print(found: Exposure, s: float, epsilon_cost: float) -> None:
    from gridveil.check.exposure import SHARES

    table = Table(
        "s", "corridors covered", "noise on the cost", title=STAMP, title_style="bold red", title_justify="left"
    )
    for one in sorted({*SHARES, s}):
        mark = "[bold]" if one == s else ""
        table.add_row(f"{mark}{one:.2%}", f"{found.covered(one):.1%}", f"{one / epsilon_cost:.2%}")
    out.print(table)
    solved = "" if found.solved.all() else f"; {int(found.solved.sum())} of them solved, the others by their slopes"
    out.print(
        f"a change of {found.alpha:g} in one of {len(found.moved)} corridors{solved}\n"
        f"s = {s:.2%} covers {found.covered(s):.1%}; asking for the cost loses {found.loss(s, epsilon_cost):.3g} for "
        f"the worst corridor, for 95 % of them at most {found.loss(s, epsilon_cost, 0.95):.3g}\n"
        f"made {found.alpha:.0%} longer, {found.declared} corridors change a cost declared to four digits"
    )
    for which in (-found.moved).argsort(kind="stable")[:5]:
        if found.moved[which] > s:
            out.print(f"  bottleneck: corridor {_name(found, which)} moves it by {found.moved[which]:.2%}")
    for which in found.infeasible[:10]:
        out.print(f"  corridor {_name(found, which)} has a neighbour without an optimal power flow")
    out.print(f"[bold red]{WARNING}[/]")


def _name(found: Exposure, which: int) -> str:
    return f"{found.ends[which][0]}–{found.ends[which][1]}"
