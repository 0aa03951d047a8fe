"""`gridveil release --dry-run`: what a release would spend and leave public; nothing is drawn or charged."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from gridveil.cli.output import out, print_json
from gridveil.privacy.composition import composed
from gridveil.privacy.ledger import Account, Ledger, default_path
from gridveil.publish.describe import distances, stays_public
from gridveil.publish.pipeline import charges, shape
from gridveil.publish.plan import Plan
from gridveil.publish.record import spent_parts
from gridveil.sealed.mechanisms import mechanism as sealed_mechanism
from gridveil.sealed.split import SecretNetwork
from gridveil.wall.changes import cost_of_changes
from gridveil.wall.facts import Source
from gridveil.wall.mechanisms import RELATIVE


def print_dry_run(
    case: str, network: SecretNetwork, plan: Plan, path: Path | None, used: int, horizon: int, as_json: bool
) -> None:
    """Print what a release would cost, as the ledger would count it."""
    words, where = plan.words, path or default_path()
    loss = sealed_mechanism(plan.mechanism).loss(network, plan.epsilon_lines)
    due = charges(plan, loss)
    account = Account(0.0, *composed(due), None)
    if where.exists():
        book = Ledger.open(where)
        account = book.preview(book.fingerprint(shape(network.grid)), due)
    public = stays_public(
        words, network.grid, plan.source, spent_parts(plan, loss, asked=True),
        [one.mechanism for one in account.within], attended=not plan.unattended,
    )  # fmt: skip
    unused = horizon - used if plan.declare_unused else 0
    losses = used if plan.loss_within is not None else 0
    record = {
        "status": "dry_run",
        "case": case,
        "loss": sum(one.loss for one in due),
        "parts": {"lines": loss, "cost": plan.epsilon_cost or None},
        "cost": str(plan.source),
        "spent_before": account.spent,
        "spent_after": account.total,
        "counted_within": [one._asdict() for one in account.within],
        "limit": account.limit,
        "refused": account.refused,
        "public_costs": used,
        "public_costs_of_unused_steps": unused,
        "public_losses": losses,
        "not_protected": public,
    }
    if as_json:
        print_json(record)
        return
    table = _facts(f"would be released of {escape(case)}")
    table.add_row("mechanism", f"{plan.mechanism}, ε = {plan.epsilon:g}, α = {plan.alpha:g} {escape(words.unit_words)}")
    for change, distance in cost_of_changes(float(plan.alpha)) if words.unit == RELATIVE else []:
        table.add_row("  loss of the lines", f"one line, {change}: {distance * loss:.2g}")
    reach = distances([(one.alpha, one.unit) for one in account.within])
    table.add_row(
        "loss, at most",
        f"[bold]{sum(one.loss for one in due):.6g}[/]; {account.spent:.6g} spent before, {account.total:.6g} after, "
        f"counted up to {escape(reach)}",
    )
    limit = "none" if account.limit is None else f"{account.limit:.6g}"
    table.add_row("limit", limit + (": [bold red]would be refused[/]" if account.refused else ""))
    costs = "the dispatch cost" if used == 1 else f"the dispatch cost of {used} steps"
    table.add_row("becomes public", costs + _SOURCES[plan.source].format(plan.epsilon_cost))
    if unused:
        table.add_row("", f"the dispatch cost of {unused} unused steps to 4 digits")
    if losses:
        many = f" of {losses} steps" if losses > 1 else ""
        how = "to 4 digits" if plan.source is Source.DECLARED else "of the noisy network"
        table.add_row("", f"the active losses{many} {how}")
    table.add_row("stays public", "\n".join(public))
    out.print(table)


_SOURCES = {
    Source.PUBLISHED: " (published before): epsilon holds among networks that share it",
    Source.PRIVATE: ", noised, for {:g} of the loss; not even asked for where the noisy lines tell it well enough",
    Source.DERIVED: ", computed from the noisy lines: nothing is asked",
    Source.DECLARED: " to 4 digits, WITHOUT noise: epsilon holds only among networks that share it",
}


def _facts(title: str) -> Table:
    table = Table(title=title, show_header=False, title_style="bold", title_justify="left")
    table.add_column(style="dim")
    table.add_column()
    return table
