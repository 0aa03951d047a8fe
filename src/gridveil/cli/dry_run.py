"""`gridveil release --dry-run`: what a release would spend and leave public; nothing is drawn or charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from gridveil.cli.output import out, print_json
from gridveil.publish.describe import distances
from gridveil.publish.record import within_records
from gridveil.wall.changes import cost_of_changes
from gridveil.wall.codec import to_plain
from gridveil.wall.facts import KIND_WORDS, Source

if TYPE_CHECKING:
    from gridveil.publish.plan import Plan
    from gridveil.publish.preview import Preview


def print_dry_run(case: str, plan: Plan, seen: Preview, used: int, horizon: int, *, as_json: bool) -> None:
    """Print what a release would cost, as the ledger would count it."""
    words, public, account = plan.words, list(seen.not_protected), seen.after
    loss = seen.charges[0].loss
    unused = horizon - used if plan.declare_unused else 0
    losses = used if plan.loss_within is not None else 0
    record = {
        "status": "dry_run",
        "case": case,
        "loss": seen.loss,
        "parts": {"lines": loss, "cost": plan.epsilon_cost or None, "totals": plan.epsilon_totals or None},
        "cost": str(plan.source),
        "spent_before": seen.before.largest,
        "spent_after": account.largest,
        "counted_within": to_plain(within_records(account.within)),
        "limit": account.largest_limit,
        "refused": seen.refused,
        "impossible": seen.impossible,
        "questions": list(seen.questions),
        "public_costs": used,
        "public_costs_of_unused_steps": unused,
        "public_losses": losses,
        "not_protected": public,
    }
    if as_json:
        print_json(record)
        return
    table = _facts(f"would be released of {escape(case)}")
    alpha = plan.protection.words if plan.joint else f"α = {plan.alpha:g} {words.unit_words}"
    table.add_row("mechanism", f"{plan.mechanism}, ε = {plan.epsilon:g}, {escape(alpha)}")
    for change, distance in cost_of_changes(float(plan.alpha)) if plan.mechanism == "log" else []:
        table.add_row("  loss of the lines", f"one line, {change}: {distance * loss:.2g}")
    within = within_records(account.within)
    reach = distances([(one.alpha, one.unit, one.by_group) for one in within], joint=plan.joint)
    table.add_row(
        "loss, at most",
        f"[bold]{seen.loss:.6g}[/]; {seen.before.largest:.6g} spent before, {account.largest:.6g} after, "
        f"counted up to {escape(reach)}",
    )
    limit = "none" if account.largest_limit is None else f"{account.largest_limit:.6g}"
    table.add_row("limit", limit + (": [bold red]would be refused[/]" if account.exceeded else ""))
    if seen.impossible is not None:
        table.add_row("impossible", f"[bold red]{escape(seen.impossible)}[/]")
    for question in seen.questions:
        table.add_row("is this meant?", f"{escape(question)} (--yes)")
    costs = "the dispatch cost" if used == 1 else f"the dispatch cost of {used} steps"
    how = ", noised, for {:g} of the loss" if plan.joint and plan.source is Source.PRIVATE else _SOURCES[plan.source]
    table.add_row("becomes public", costs + how.format(plan.epsilon_cost))
    if plan.asked_totals:
        table.add_row("", ", ".join(KIND_WORDS[kind] for kind in plan.asked_totals) + _TOTALS[Source(plan.totals)])
    if plan.epsilon_totals:
        groups = ",".join(plan.protect or ())
        see = f"gridveil exposure {case} --protect {groups}"
        table.add_row("", f"what large loads and plants lose by totals beyond that, INTERNAL: {escape(see)}")
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
    Source.PRIVATE: ", noised, for {:g} of the loss; not asked for where the noisy network's slopes tell it as well",
    Source.DERIVED: ", computed from the noisy lines: nothing is asked",
    Source.DECLARED: " to 4 digits, WITHOUT noise: epsilon holds only among networks that share it",
}


_TOTALS = {
    Source.PUBLISHED: " (published before): epsilon holds among networks that share them",
    Source.PRIVATE: ", noised, as a part of the loss",
    Source.DERIVED: ", computed from the noisy numbers: nothing is asked",
    Source.DECLARED: " to 4 digits, WITHOUT noise: epsilon holds only among networks that share them",
}


def _facts(title: str) -> Table:
    table = Table(title=title, show_header=False, title_style="bold", title_justify="left")
    table.add_column(style="dim")
    table.add_column()
    return table
