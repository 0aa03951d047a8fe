"""How a release and its checks look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from gridveil.cli.output import out
from gridveil.nlp.solver import Status
from gridveil.publish import bundle
from gridveil.publish.describe import RESEARCH, within
from gridveil.publish.release import Release
from gridveil.wall.certificate import Certificate, Check, worst_of_steps


def print_release(case: str, target: Path, made: Release) -> None:
    """What was released, beside what is public of the original."""
    privacy, fidelity, horizon = made.manifest.privacy, made.manifest.fidelity, made.manifest.horizon
    if not privacy.differentially_private:
        out.print(f"[bold red]{RESEARCH}[/]")
    cost = made.costs[0]
    grid, released = made.network.grid, made.point.cost
    table = Table(
        "",
        "original (what is public)",
        "released",
        title=f"{escape(case)} → {escape(str(target))}",
        title_style="bold",
        title_justify="left",
    )
    size = f"{grid.n_bus} buses, {grid.n_line} lines"
    table.add_row("network", size, f"{size}, other line parameters ({made.manifest.repair.path})")
    if horizon:
        table.add_row("horizon", f"{horizon.steps} steps", f"promised at {len(horizon.used)} of them")
    table.add_row(
        f"optimal cost of step {horizon.used[0]}" if horizon else "optimal cost",
        f"{cost.value:,.2f} ({cost.source})",
        f"{released:,.2f} ({released / cost.value - 1:+.2%})",
    )
    if (truth := made.certificate.truth) is not None:
        table.add_row(f"  the true one, with {truth.certainty:.0%}", within(truth.low, truth.high), "")
    if privacy.differentially_private:
        table.add_row("privacy", f"ε = {privacy.epsilon:g}, α = {privacy.alpha:g}", _spent(made))
    for given in privacy.given:
        table.add_row("[bold]ε is conditional on[/]", escape(given), "")
    for check in worst_of_steps(made.certificate.checks):
        table.add_row(escape(check.name), f"≤ {check.limit:.4g}", f"{_mark(check.passed)} {_value(check, '.2e')}")
    out.print(table)
    print_unused(made.certificate)
    out.print(f"[dim]β = {fidelity.beta:g}; what is protected and what is not stands in {bundle.MANIFEST}[/]")


def _spent(made: Release) -> str:
    privacy = made.manifest.privacy
    text = f"loss {privacy.loss:.6g}, {privacy.cumulative_loss:.6g} in all"
    if privacy.parts.cost is not None and not privacy.parts.cost.asked:
        text += "; the cost was not asked for"
    within = [one.alpha for one in privacy.cumulative_within or [] if one.unit == privacy.alpha_unit]
    if max(within) > privacy.alpha:
        text += f" (counted up to α = {max(within):g}, the largest so far)"
    return text


def _value(check: Check, form: str) -> str:
    return "–" if check.value is None else f"{check.value:{form}}"


def _mark(passed: bool) -> str:
    return "[green]✓[/]" if passed else "[red]✗[/]"


def print_unused(certificate: Certificate) -> None:
    """One line on the steps without a promise."""
    if not certificate.unused:
        return
    solved = [one for one in certificate.unused if one.status == Status.OPTIMAL]
    text = f"unused steps (reported, not promised): {len(solved)} of {len(certificate.unused)} are AC-feasible"
    if known := [one.away for one in solved if one.away is not None]:
        text += f", their costs at most {max(known):.2%} from the public ones"
    out.print(f"[dim]{text}[/]")


def check_rows(checks: Sequence[Check]) -> Table:
    """A table of checks, for `verify` and others."""
    table = Table("", "check", "value", "limit", title_justify="left")
    for check in worst_of_steps(checks):
        table.add_row(_mark(check.passed), escape(check.name), _value(check, ".3g"), f"{check.limit:.4g}")
    return table
