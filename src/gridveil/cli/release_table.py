"""How a release and its checks look on a terminal, and as one object for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from gridveil.cli.checks import mark, print_unused, value
from gridveil.cli.output import out
from gridveil.publish import bundle
from gridveil.publish.describe import RESEARCH, distances, within
from gridveil.publish.manifest import protection_of
from gridveil.publish.release import Release
from gridveil.wall.certificate import stored, worst_of_steps
from gridveil.wall.codec import to_plain
from gridveil.wall.facts import KIND_WORDS


def release_record(target: Path, made: Release) -> dict[str, Any]:
    """What JSON says of a release."""
    certificate, manifest = to_plain(stored(made.certificate)), to_plain(made.manifest)
    return {"status": "released", "out": str(target), **certificate, "manifest": manifest}


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
    protection = protection_of(made.manifest)
    other = "line parameters" if protection is None else ", ".join(protection.groups)
    table.add_row("network", size, f"{size}, other {other} ({made.manifest.repair.path})")
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
        alpha = f"α = {privacy.alpha:g}" if protection is None else protection.words
        table.add_row("privacy", f"ε = {privacy.epsilon:g}, {alpha}", _spent(made))
    for one in made.manifest.public_inputs:
        if one.kind.total and one.step is None:
            table.add_row(KIND_WORDS[one.kind], f"{one.value:,.1f} ({one.source})", "")
    for given in privacy.given:
        table.add_row("[bold]ε is conditional on[/]", escape(given), "")
    for check in worst_of_steps(made.certificate.checks):
        table.add_row(escape(check.name), f"≤ {check.limit:.4g}", f"{mark(check.passed)} {value(check, '.2e')}")
    out.print(table)
    print_unused(made.certificate.unused)
    out.print(f"[dim]β = {fidelity.beta:g}; what is protected and what is not stands in {bundle.MANIFEST}[/]")


def _spent(made: Release) -> str:
    privacy = made.manifest.privacy
    text = f"loss {privacy.loss:.6g}, {privacy.cumulative_loss:.6g} in all"
    if privacy.parts.cost is not None and not privacy.parts.cost.asked:
        text += "; the cost was not asked for"
    counted = [one for one in privacy.cumulative_within or [] if one.unit == privacy.alpha_unit]
    if any(one.by_group for one in counted):
        words = distances([(one.alpha, one.unit, one.by_group) for one in counted], joint=True)
        text += f" (counted up to {words})"
    elif (largest := max(one.alpha for one in counted)) > privacy.alpha:
        text += f" (counted up to α = {largest:g}, the largest so far)"
    return text
