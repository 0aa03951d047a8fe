"""The public report of one release, for whoever receives it: what it is, what it claims, what it does not protect.

It is made from the `Release` alone, which holds nothing of the input; two secrets with the same noisy values and public
facts give the same bytes, and a test holds it to that.
"""

from __future__ import annotations

import re
from typing import Any

from gridveil.privacy.composition import Within, distances
from gridveil.publish import bundle
from gridveil.publish.manifest import COST, UNUSED_COST
from gridveil.publish.pipeline import Release
from gridveil.repair.certify import BOUNDS
from gridveil.report.loading_map import CLASSES, COLOURS, loading, loading_class, loading_map
from gridveil.report.page import render
from gridveil.report.series import number
from gridveil.report.words import budget, meaning, odds, reach


def public_report(release: Release) -> str:
    """The report as HTML text, the same for the same release."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates, an extra

    record, grid = release.manifest, release.network.grid
    privacy = record["privacy"]
    inputs = {one["name"]: one for one in record["public_inputs"]}
    share = loading(release.network, release.point)
    present = set(loading_class(share).tolist())
    return render(
        "public.html",
        record=record,
        private=privacy["differentially_private"],
        size={"buses": grid.n_bus, "lines": grid.n_line, "generators": grid.n_generator},
        load=f"{grid.buses.pd.sum() * grid.base_mva:,.1f}",
        cost=_costs(release, inputs),
        checks=_checks(release),
        statement=[
            budget(privacy["epsilon"], record["mechanism"]["name"]),
            reach(privacy["alpha"], record["mechanism"]["name"]),
        ],
        loss=_loss(privacy),
        steps=_steps(release, inputs),
        unprotected=len(record["unprotected_lines"]),
        inputs=[{**one, "shown": _shown(one)} for one in record["public_inputs"]],
        map=Markup(loading_map(release.network, release.point)),
        classes=[(CLASSES[i], COLOURS[i]) for i in sorted(present)],
        files=[bundle.NETWORK, bundle.CERTIFICATE, *([bundle.PROFILE] if record["horizon"] else [])],
        beta=number(100 * record["fidelity"]["beta"]),
    )


def _costs(release: Release, inputs: dict[str, Any]) -> dict[str, str]:
    public = inputs[COST]["value"][0]
    return {
        "public": _money(public),
        "released": _money(release.point.cost),
        "away": f"{release.point.cost / public - 1:+.2%}".replace("-", "−"),
    }


def _checks(release: Release) -> list[dict[str, Any]]:
    found = []
    for check in bundle.worst_of_steps(release.certificate.checks):
        plain = meaning(re.sub(r"^(\w+(?: \w+)?) of step \d+", r"\1", check.name))
        found.append(
            {"name": check.name, "plain": plain, "again": not check.name.startswith(BOUNDS),
             "value": number(check.value), "limit": number(check.limit), "passed": check.passed}
        )  # fmt: skip
    return found


def _loss(privacy: dict[str, Any]) -> str:
    if not privacy["differentially_private"]:
        return ""
    spent = f"This release spent {number(privacy['loss'], 6)}"
    if privacy["cumulative_loss"] is not None:
        spent += f"; all releases of this network together spent {number(privacy['cumulative_loss'], 6)}"
        if privacy["limit"] is not None:
            spent += f" of the operator's limit of {number(privacy['limit'], 6)}"
        within = distances([Within(**one) for one in privacy["cumulative_within"]])
        spent += f". For changes up to α = {within}, whoever has all of them can change their odds by "
        spent += odds(privacy["cumulative_loss"])
        if len({one["unit"] for one in privacy["cumulative_within"]}) > 1:
            spent += ", if the change touches nothing that one of them left unprotected"
    return spent + "."


def _money(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}".replace("-", "−")


def _shown(one: dict[str, Any]) -> str:
    """A public input's values: one, or their range."""
    values = one["value"]
    if len(values) == 1:
        return _money(values[0])
    return f"{_money(min(values))} to {_money(max(values))}"


def _steps(release: Release, inputs: dict[str, Any]) -> list[dict[str, str]]:
    """A row per step of the horizon: its demand, the costs where they are public, and what is promised."""
    profile, horizon = release.profile, release.manifest["horizon"]
    if profile is None:
        return []
    stated = dict(zip(inputs[COST]["steps"], inputs[COST]["value"], strict=True))
    if UNUSED_COST in inputs:
        stated |= dict(zip(inputs[UNUSED_COST]["steps"], inputs[UNUSED_COST]["value"], strict=True))
    reached = dict(zip(horizon["used"], (point.cost for point in release.points), strict=True))
    others = {one.step: one for one in release.certificate.unused}
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
