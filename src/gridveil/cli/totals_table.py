"""What `gridveil exposure --protect` shows of loads and plants. INTERNAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from gridveil.cli.output import out

if TYPE_CHECKING:
    from gridveil.check.totals_exposure import TotalsExposure

SHOWN = 15


def totals_record(found: TotalsExposure, s: float, epsilon_totals: float) -> dict[str, object]:
    """For programs: every element, the worst first."""
    loss = found.loss(s, epsilon_totals)
    return {
        "alpha": found.alpha,
        "s": s,
        "totals": [str(kind) for kind in found.kinds],
        "covered": found.covered(s),
        "elements": [
            {
                "element": str(found.element[i]),
                "number": found.name[i],
                "moved": float(found.total[i]),
                "loss": float(loss[i]),
                "cost_moved": None if found.cost[i] != found.cost[i] else float(found.cost[i]),
                "infeasible": bool(found.infeasible[i]),
            }
            for i in (-found.total).argsort(kind="stable").tolist()
        ],
    }


def print_totals(found: TotalsExposure, s: float, epsilon_totals: float, cost_s: float) -> None:
    """For people: the elements that move totals most, what that costs them, and what they do to the cost."""
    from gridveil.wall.facts import KIND_WORDS

    loss, order = found.loss(s, epsilon_totals), (-found.total).argsort(kind="stable")
    table = Table("element", "moves totals by", "loss by totals", "moves the cost by")
    for i in order[:SHOWN].tolist():
        cost = "–" if found.cost[i] != found.cost[i] else f"{found.cost[i]:.2%}"
        mark = " (a neighbour has no dispatch)" if found.infeasible[i] else ""
        bold = "[bold]" if found.total[i] > s else ""
        name = f"{found.element[i]} {found.name[i]}"
        table.add_row(f"{bold}{name}", f"{found.total[i]:.2%}", f"{loss[i]:.3g}", f"{cost}{mark}")
    words = ", ".join(KIND_WORDS[kind] for kind in found.kinds)
    out.print(f"\ntotals ({words}); a change of {found.alpha:g} in one of {len(loss)} loads, plants or classes")
    out.print(table)
    if len(order) > SHOWN:
        out.print(f"and {len(order) - SHOWN} more that move totals less")
    many = int((found.cost > cost_s).sum())
    out.print(
        f"s = {s:.2%} covers {found.covered(s):.1%} of them; asking for totals loses {loss.max(initial=0.0):.3g} for "
        f"the worst, {float(loss[order[len(order) // 2]]):.3g} for half of them at most; {many} move the dispatch cost "
        f"by more than {cost_s:.2%}"
    )
