"""Which facts are on the card of which result. A network's card has counts alone: a notebook is easily passed on.

What needs the original says INTERNAL; a release says whether it is private or research.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridveil.grid.topology import corridors, islands
from gridveil.report.card import Badge, Card, Tone, html
from gridveil.report.maps.small_map import small_map
from gridveil.status import Status

if TYPE_CHECKING:
    from gridveil.attacks.attack import Attack
    from gridveil.check.exposure import Exposure
    from gridveil.check.leaks.verdict import LeakReport
    from gridveil.check.steps import StepComparison
    from gridveil.check.verdict import Verdict
    from gridveil.conic.gap import Gap, GapChange
    from gridveil.conic.relaxation import Relaxation
    from gridveil.grid import Grid, Network, OperatingPoint, Structure
    from gridveil.grid.changes import Comparison
    from gridveil.nlp.opf import Solution
    from gridveil.publish.manifest import Manifest
    from gridveil.publish.release import Release
    from gridveil.sealed.split import Sealed
    from gridveil.study.drawn_reading import Draws
    from gridveil.study.many import ResearchDraw
    from gridveil.wall.certificate import Certificate
    from gridveil.wall.coordinates import Distance

INTERNAL = Badge("INTERNAL", Tone.INTERNAL)
RESEARCH = Badge("research, NOT private", Tone.WARN)
NEEDS = "Made with the original network at hand: not for publication."


def card(thing: Any) -> str | None:
    """The card of a result as HTML, by the name of its class."""
    make = CARDS.get(type(thing).__name__)
    return None if make is None else html(make(thing))


def _network(network: Network) -> Card:
    return Card(
        "Network", (*_counts(network.grid), *_shape(network.grid)), picture=_map(network.grid),
        foot="As secret as what it was read from. Numbers: .frame('lines'), .frame('buses'), .frame('generators').",
    )  # fmt: skip


def _sealed(sealed: Sealed) -> Card:
    known = sealed.structure
    return Card(
        "Sealed network", (*_counts(known), ("lossless lines", f"{known.n_lossless:,}")),
        (Badge("sealed", Tone.PLAIN),), foot="No number of it can be seen; gv.release publishes a noised one.",
    )  # fmt: skip


def _structure(known: Structure) -> Card:
    return Card("Structure of a network", _counts(known), picture=_map(known))


def _solution(solution: Solution) -> Card:
    facts = (
        *_ended(solution.status, solution.detail),
        *((("cost", f"{solution.cost:,.2f} $/h"),) if solution.status is Status.OPTIMAL else ()),
        ("largest violation", f"{solution.violations.largest:.1e} p.u., recomputed independently"),
        ("effort", f"{solution.iterations} iterations, {solution.seconds:.2f} s"),
    )
    return Card("AC optimal power flow", facts, (_status(solution.status),), _map(solution.grid))


def _point(point: OperatingPoint) -> Card:
    facts = (
        ("buses", f"{len(point.vm):,}"), ("generators", f"{len(point.pg):,}"), ("lines", f"{len(point.pf):,}"),
        ("cost", f"{point.cost:,.2f} $/h"),
    )  # fmt: skip
    return Card("Operating point", facts)


def _relaxation(found: Relaxation) -> Card:
    bound = (("bound", f"{found.bound:,.2f} $/h: no dispatch costs less"),) if found.status is Status.OPTIMAL else ()
    facts = (*_ended(found.status, found.detail), *bound, ("effort", f"{found.iterations} iterations"))
    return Card(f"{found.formulation.upper()} relaxation", facts, (_status(found.status),))


def _gap(gap: Gap) -> Card:
    return Card("Optimality gaps", _gaps(gap), (_status(gap.status),))


def _gap_change(both: GapChange) -> Card:
    facts = tuple((f"{name}, change", _shown(value, " points")) for name, value in (
        ("SOC gap", both.soc_points), ("QC gap", both.qc_points)))  # fmt: skip
    before = tuple((f"{name}, original", words) for name, words in _gaps(both.original)[1:])
    after = tuple((f"{name}, released", words) for name, words in _gaps(both.released)[1:])
    return Card("Change of optimality gaps", (*facts, *before, *after), (INTERNAL,), foot=NEEDS)


def _release(made: Release) -> Card:
    record, privacy = made.manifest, made.manifest.privacy
    steps = () if made.profile is None else (("steps promised", f"{len(made.points)} of {len(made.profile)}"),)
    facts = (
        *_counts(made.network.grid), *steps,
        ("optimal cost", f"{made.point.cost:,.2f} $/h"),
        ("privacy", _privacy(record)),
        ("certificate", _claims(made.certificate)),
        ("found", f"{record.repair.path}, {record.mechanism.name}"),
    )  # fmt: skip
    spent = "" if privacy.cumulative_loss is None else f"The loss is {privacy.cumulative_loss:g} in all. "
    foot = record.warning or f"{spent}The manifest says what is not protected."
    return Card("Release", facts, (_private(record), _holds(made.certificate)), _map(made.network.grid), foot)


def _manifest(record: Manifest) -> Card:
    facts = (
        ("privacy", _privacy(record)), ("mechanism", record.mechanism.name), ("date", str(record.date)),
        ("format", str(record.format)), ("repair", record.repair.path),
    )  # fmt: skip
    return Card("Manifest", facts, (_private(record),), foot=record.warning or "")


def _certificate(certificate: Certificate) -> Card:
    facts = tuple(
        (one.name, f"{'holds' if one.passed else 'FAILS'}: {one.value:.2g}, limit {one.limit:.2g}")
        if one.value is not None else (one.name, "holds" if one.passed else "FAILS")
        for one in certificate.checks
    )  # fmt: skip
    return Card("Certificate", facts, (_holds(certificate),), foot="Recomputed from the file as it was written.")


def _verdict(verdict: Verdict) -> Card:
    holds = Badge("what was recomputed holds", Tone.GOOD) if verdict.passed else Badge("NOT verified", Tone.WARN)
    private = () if verdict.record is None else (_private(verdict.record),)
    facts = (
        ("checks", f"{len(verdict.checks)}"),
        *((("failed", ", ".join(verdict.failed)),) if verdict.failed else ()),
    )
    return Card("Verification", facts, (holds, *private), foot=verdict.sentence)


def _attack(attack: Attack) -> Card:
    facts = (
        ("attacker", attack.attacker), ("lines cut", f"{len(attack.lines)}"),
        ("load", f"{attack.load_mw:,.1f} MW"),
        ("restored", f"{attack.restored_mw:,.1f} MW, {attack.restored_percent:.1f} % ({attack.status})"),
        ("same lines as the real attack", f"{attack.similarity:.0f} %"),
    )  # fmt: skip
    picture = "" if attack.grid is None else _map(attack.grid, attack.lines.tolist())
    return Card("Attack", facts, (INTERNAL,), picture, NEEDS)


def _leaks(report: LeakReport) -> Card:
    tone = {"clean": Tone.GOOD, "weak": Tone.WARN}.get(report.verdict, Tone.INTERNAL)
    facts = (
        ("best attacker", report.best_attacker), ("his median error", f"{report.best_error:.1%}"),
        ("error of the noise alone", f"{report.noise_error:.1%}"), ("attackers", f"{len(report.attackers)}"),
    )  # fmt: skip
    return Card("Leak check", facts, (Badge(report.verdict, tone), INTERNAL), foot=report.reason)


def _exposure(found: Exposure) -> Card:
    facts = (
        ("corridors", f"{len(found.moved):,}"), ("change", f"α = {found.alpha:g}"),
        ("moves the cost by", f"{float(np.max(found.moved, initial=0.0)):.2%} at most"),
        ("without an optimum", f"{len(found.infeasible):,}"),
    )  # fmt: skip
    return Card("Exposure by the dispatch cost", facts, (INTERNAL,), foot=NEEDS)


def _step(step: StepComparison) -> Card:
    facts = (
        ("promised", "yes" if step.used else "no"), ("status", step.status),
        ("true cost", f"{step.true_cost:,.2f} $/h"), ("released cost", f"{step.released_cost:,.2f} $/h"),
        ("away", "unknown" if step.away is None else f"{step.away:.3%}"),
    )  # fmt: skip
    return Card(f"Step {step.step}", facts, (INTERNAL,), foot=NEEDS)


def _distance(distance: Distance) -> Card:
    facts = (
        ("corridors that differ", f"{distance.changed:,} of {len(distance.by_corridor):,}"),
        ("largest", f"{float(np.max(distance.by_corridor, initial=0.0)):.3g} α"),
        ("in all", f"{distance.total:.3g} α: a loss of ε times that"),
    )
    return Card("Distance of two networks", facts, (INTERNAL,), foot=NEEDS)


def _comparison(both: Comparison) -> Card:
    tables = ((name, getattr(both, name)) for name in ("lines", "ratings", "loads", "limits", "costs"))
    facts = tuple((name, _moved(table)) for name, table in tables)
    return Card(
        "Before and after", facts, (INTERNAL,), foot=f"{NEEDS} Frames: .lines, .ratings, .loads, .limits, .costs."
    )


def _draw(draw: ResearchDraw) -> Card:
    plan = draw.plan
    cost = () if draw.cost is None else (("cost", f"{draw.cost:,.2f} $/h"), ("found", str(draw.path)))
    facts = (
        ("seed", f"{draw.seed}"), ("plan", f"ε = {plan.epsilon:g}, α = {float(plan.alpha):g}, {plan.mechanism}"), *cost,
        ("effort", f"{draw.effort:.1f} AC-OPFs"), *((("why not", draw.detail),) if draw.detail else ()),
    )  # fmt: skip
    badge = Badge("certified", Tone.GOOD) if draw.certified else Badge("not certified", Tone.WARN)
    picture = "" if draw.network is None else _map(draw.network.grid)
    return Card("Draw", facts, (RESEARCH, badge), picture)


def _draws(draws: Draws) -> Card:
    known, certified = draws.manifest, draws.arrow(columns=["certified"])["certified"].to_pylist()
    network = known.network
    size = ", ".join(f"{network[name]:,} {name}" for name in ("buses", "generators", "lines"))
    facts = (
        ("draws", f"{len(certified):,}, {sum(certified):,} certified"), ("network", f"{network['name']}: {size}"),
        ("plans", f"{len(known.plans)}"), ("seeds", f"{known.seeds['first']} to {known.seeds['last']}"),
        ("tables", ", ".join(known.tables)),
    )  # fmt: skip
    return Card("Dataset of draws", facts, (RESEARCH,), foot="Tables: .frame('lines'), .arrow('lines').")


def _counts(grid: Grid | Structure) -> tuple[tuple[str, str], ...]:
    return ("buses", f"{grid.n_bus:,}"), ("generators", f"{grid.n_generator:,}"), ("lines", f"{grid.n_line:,}")


def _shape(grid: Grid) -> tuple[tuple[str, str], ...]:
    parts = int(islands(grid).max(initial=-1)) + 1
    return (
        ("corridors", f"{int(corridors(grid).max(initial=-1)) + 1:,}"), ("islands", f"{parts:,}"),
        ("voltage levels", f"{len(np.unique(grid.buses.base_kv)):,}"),
    )  # fmt: skip


def _map(grid: Grid | Structure, marked: Any = ()) -> str:
    return small_map(grid.n_bus, grid.lines, grid.generators.bus, marked)


def _ended(status: Status, detail: str) -> tuple[tuple[str, str], ...]:
    return (("ended", detail),) if status is Status.OPTIMAL else (("ended", f"{status}: {detail}"),)


def _status(status: Status) -> Badge:
    return Badge(str(status).replace("_", " "), Tone.GOOD if status is Status.OPTIMAL else Tone.WARN)


def _gaps(gap: Gap) -> tuple[tuple[str, str], ...]:
    return (
        ("AC cost", f"{gap.ac_cost:,.2f} $/h" if gap.ac_status is Status.OPTIMAL else str(gap.ac_status)),
        ("SOC gap", _shown(gap.soc_pct, " %")), ("QC gap", _shown(gap.qc_pct, " %")),
    )  # fmt: skip


def _shown(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:.2f}{unit}"


def _private(record: Manifest) -> Badge:
    return Badge("private", Tone.GOOD) if record.privacy.differentially_private else RESEARCH


def _privacy(record: Manifest) -> str:
    return f"ε = {record.privacy.epsilon:g}, α = {record.privacy.alpha:g}"


def _holds(certificate: Certificate) -> Badge:
    return Badge("certified", Tone.GOOD) if certificate.passed else Badge("certificate FAILS", Tone.WARN)


def _claims(certificate: Certificate) -> str:
    failed = ", ".join(certificate.failed)
    return f"FAILS: {failed}" if failed else f"all {len(certificate.checks)} checks hold, recomputed from the file"


def _moved(table: Any) -> str:
    change = table["change"].abs().dropna()
    if not len(change):
        return f"{len(table):,} numbers"
    return f"{len(table):,} numbers, half moved by {change.median():.1%} or less, {change.max():.1%} at most"


CARDS: dict[str, Callable[[Any], Card]] = {
    "Network": _network, "Sealed": _sealed, "Structure": _structure, "Solution": _solution, "OperatingPoint": _point,
    "Relaxation": _relaxation, "Gap": _gap, "GapChange": _gap_change, "Release": _release, "Manifest": _manifest,
    "Certificate": _certificate, "Verdict": _verdict, "Attack": _attack, "LeakReport": _leaks, "Exposure": _exposure,
    "StepComparison": _step, "Distance": _distance, "Comparison": _comparison, "ResearchDraw": _draw, "Draws": _draws,
}  # fmt: skip
"""By names of classes, so that showing a network loads no attack."""
