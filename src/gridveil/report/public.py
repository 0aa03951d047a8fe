"""The public report of one release, for whoever receives it: what it is, what it claims, what it does not protect.

It is made from the other files of the bundle alone; two secrets with the same noisy values and public facts give the
same bytes, and `verify` makes the page again and compares it byte for byte. Whoever changes it gives it another edition
and keeps the former one: a page says its edition, and is made again as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.casefile.profile import read_csv_bytes
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network, written_point
from gridveil.charts.numbers import number
from gridveil.grid import Network, OperatingPoint
from gridveil.grid.profile import Profile
from gridveil.publish import bundle
from gridveil.publish.describe import distances
from gridveil.publish.describe import within as within_words
from gridveil.publish.manifest import Manifest, Privacy, protection_of, totals_part
from gridveil.publish.release import Release
from gridveil.report.maps.loading_map import CLASSES, COLOURS, loading, loading_class, loading_map
from gridveil.report.noised import noised
from gridveil.report.page import render, require
from gridveil.report.words import budget, changes, joint_reach, odds, reach
from gridveil.wall.certificate import Basis, StoredCertificate, worst_of_steps
from gridveil.wall.codec import from_json, to_plain
from gridveil.wall.facts import KIND_WORDS, Fact, FactKind, Source
from gridveil.wall.mechanisms import JOINT, RELATIVE, mechanism_words
from gridveil.wall.protection import GROUP_WORDS

EDITION = b'<meta name="edition" content="2">'
"""What a page of the second edition says of itself; the first says nothing."""


@dataclass(frozen=True, eq=False)
class _Published:
    """A bundle as its files have it."""

    network: Network
    point: OperatingPoint
    manifest: Manifest
    certificate: StoredCertificate
    profile: Profile | None

    @property
    def costs(self) -> list[Fact]:
        return [one for one in self.manifest.public_inputs if one.kind is FactKind.COST]


def public_report(release: Release) -> str:
    """The report as HTML text, the same for the same release."""
    return _page(_published(release.files()))


def page_again(files: Mapping[str, bytes]) -> str:
    """The page that a bundle's other files make, in the edition of the page that is there."""
    require("jinja2")
    return _page(_published(files), former=EDITION not in files.get(bundle.REPORT, EDITION))


def _published(files: Mapping[str, bytes]) -> _Published:
    record = from_json(files[bundle.MANIFEST], Manifest)
    case = read_bytes(bundle.NETWORK, files[bundle.NETWORK])
    network = to_network(case)
    horizon = record.horizon is not None
    profile = read_csv_bytes(Path(bundle.PROFILE), files[bundle.PROFILE], network.grid) if horizon else None
    certificate = from_json(files[bundle.CERTIFICATE], StoredCertificate)
    return _Published(network, written_point(case, network), record, certificate, profile)


def _page(release: _Published, *, former: bool = False) -> str:
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates, an extra

    record, grid = release.manifest, release.network.grid
    privacy, words = record.privacy, mechanism_words(record.mechanism.name)
    protection = protection_of(record)
    share = loading(release.network, release.point)
    present = set(loading_class(share).tolist())
    return render(
        "public.html",
        former=former,
        record=to_plain(record),
        private=privacy.differentially_private,
        size={"buses": grid.n_bus, "lines": grid.n_line, "generators": grid.n_generator},
        load=f"{grid.buses.pd.sum() * grid.base_mva:,.1f}",
        numbers="line parameters" if protection is None else ", ".join(GROUP_WORDS[one] for one in protection.groups),
        cost=_costs(release),
        checks=_checks(release),
        statement=[
            budget(_asked(privacy), words.name),
            reach(privacy.alpha, words.name) if protection is None else joint_reach(protection),
            *changes(privacy.parts.lines.epsilon, privacy.alpha, words.name),
            *_conditions(privacy),
        ],
        loss=_loss(privacy, "line" if protection is None else "line, load or plant"),
        noised=[]
        if protection is None
        else [
            {**one, "bar": Markup(one["bar"])}
            for one in noised(release.network, protection, privacy.parts.lines.epsilon)
        ],
        steps=_steps(release),
        unprotected=len(record.unprotected_lines),
        inputs=_inputs(record.public_inputs, former=former),
        map=Markup(loading_map(release.network, release.point)),
        classes=[(CLASSES[i], COLOURS[i]) for i in sorted(present)],
        files=[bundle.NETWORK, bundle.CERTIFICATE, *([bundle.PROFILE] if record.horizon else [])],
        beta=number(100 * record.fidelity.beta),
    )


def _asked(privacy: Privacy) -> float:
    """The ε of this release: that of the draw and of totals, and that of the cost if it was asked for."""
    cost, totals = privacy.parts.cost, totals_part(privacy.parts)
    asked = [one.epsilon for one in (cost, totals) if one is not None and one.asked]
    return privacy.parts.lines.epsilon + sum(asked)


def _costs(release: _Published) -> dict[str, str]:
    public, released = release.costs[0], release.certificate.used_steps[0].cost or 0.0
    truth = release.certificate.truth
    interval = "" if truth is None else within_words(truth.low, truth.high)
    return {
        "public": _money(public.value),
        "source": _SOURCES[public.source],
        "interval": interval,
        "released": _money(released),
        "away": f"{released / public.value - 1:+.2%}".replace("-", "−"),
    }


_SOURCES = {
    Source.PUBLISHED: "published before by the operator",
    Source.PRIVATE: "from a noisy answer that is part of the privacy budget",
    Source.DERIVED: "computed from the noisy lines; the original was not asked",
    Source.DECLARED: "the original's, rounded, without noise",
}


def _checks(release: _Published) -> list[dict[str, Any]]:
    return [
        {"name": check.name, "plain": check.meaning, "again": check.basis is Basis.RECOMPUTED,
         "value": "–" if check.value is None else number(check.value), "limit": number(check.limit),
         "passed": check.passed}
        for check in worst_of_steps(release.certificate.checks)
    ]  # fmt: skip


def _conditions(privacy: Privacy) -> list[str]:
    """What the cost adds, or what everything is conditional on."""
    cost, totals = privacy.parts.cost, totals_part(privacy.parts)
    words, drawn = [], "the lines" if privacy.parts.lines.unit != RELATIVE or totals is None else "the numbers"
    if totals is not None:
        words.append(
            f"{number(totals.epsilon)} of this ε is for totals (demand, capacity, merit-order cost), which were asked "
            f"for and noised: neighbours are those whose totals also differ by {number(100 * totals.reach)} % at most, "
            "added up. An element that is a large share of a total has less."
        )
    if cost is not None and cost.asked:
        words.append(
            f"Of this ε, {number(privacy.parts.lines.epsilon)} is for {drawn} and {number(cost.epsilon)} for the "
            f"dispatch cost, which was asked for and noised: neighbours are those that also differ in it by "
            f"{number(100 * cost.reach)} % at most. A corridor whose change moves it more, a bottleneck, has less."
        )
    elif cost is not None:
        words.append(
            "The dispatch cost was not asked for: by how its cost answers to each line, the noisy network tells it as "
            f"well as a noisy answer would, unless the noise has hidden a bottleneck. {number(cost.epsilon)} "
            f"of the planned ε = {number(privacy.epsilon)} was not spent."
        )
    if privacy.given:
        words.append(
            f"All this holds only among networks that share: {'; '.join(privacy.given)}. Whoever can tell two networks "
            "apart by these figures is not hindered by the noise."
        )
    return words


def _loss(privacy: Privacy, whose: str) -> str:
    if not privacy.differentially_private or privacy.loss is None:
        return ""
    spent = f"This release spent {number(privacy.loss, 6)}"
    if privacy.cumulative_loss is not None:
        most = number(privacy.cumulative_loss, 6)
        spent += f"; over all releases that it was in, no {whose} has spent more than {most}"
        if privacy.limit is not None:
            spent += f" of the operator's limit of {number(privacy.limit, 6)}"
        within = privacy.cumulative_within or []
        joint = any(one.mechanism == JOINT for one in within)
        reach_words = distances([(one.alpha, one.unit, one.by_group) for one in within], joint=joint)
        spent += f". For changes up to {reach_words}, whoever has all of them "
        spent += f"can change their odds by {odds(privacy.cumulative_loss)}"
        if privacy.given_before:
            spent += f", among networks that share what earlier releases stated: {'; '.join(privacy.given_before)}"
        if {"relative", "conductance"} <= {one.unit for one in within}:
            spent += ", if the change touches nothing that one of them left unprotected"
    return spent + "."


def _inputs(facts: list[Fact], *, former: bool) -> list[dict[str, Any]]:
    """A row per kind of fact: its values, or their range; the first edition gave a range also of equal ends."""
    rows = []
    for kind in FactKind:
        same = [one for one in facts if one.kind is kind]
        if not same:
            continue
        values = [one.value for one in same]
        shown = [f"{value:.4f}" if kind in (FactKind.SURCHARGE, FactKind.LOSSES) else _money(value) for value in
                 (min(values), max(values))]  # fmt: skip
        rows.append(
            {"name": KIND_WORDS[kind], "steps": len(same), "source": str(same[0].source), "digits": same[0].digits,
             "shown": " to ".join(shown if former and len(same) > 1 else dict.fromkeys(shown))}
        )  # fmt: skip
    return rows


def _money(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}".replace("-", "−")


def _steps(release: _Published) -> list[dict[str, str]]:
    """A row per step of the horizon: its demand, the costs where they are public, and what is promised."""
    profile, horizon = release.profile, release.manifest.horizon
    if profile is None or horizon is None:
        return []
    costs = (FactKind.COST, FactKind.UNUSED_COST)
    stated = {one.step: one.value for one in release.manifest.public_inputs if one.kind in costs}
    reached = {one.step: one.cost for one in release.certificate.used_steps}
    others = {one.step: one for one in release.certificate.unused_steps}
    rows = []
    for index, step in enumerate(profile.step.tolist()):
        other = others.get(step)
        cost = reached.get(step, other.cost if other is not None and other.status == "optimal" else None)
        rows.append(
            {
                "step": str(step),
                "load": f"{profile.pd[index].sum() * release.network.grid.base_mva:,.1f}",
                "promise": "promised" if step in reached else "",
                "public": _money(stated.get(step)),
                "released": _money(cost) if cost is not None else (other.status if other is not None else "–"),
            }
        )
    return rows
