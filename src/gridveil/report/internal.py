"""The internal page of `leakcheck`: verdicts, what attackers know, and every protected number before and after.

It needs the original and says so at its top; nothing of it may leave the building.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.charts.numbers import number
from gridveil.errors import ReportError
from gridveil.grid import Network
from gridveil.publish import bundle
from gridveil.report.comparison import before_after, histogram, middle_change
from gridveil.report.maps.html import map_block
from gridveil.report.maps.picture import picture_of
from gridveil.report.page import check_file, render, save
from gridveil.report.quantities import Numbers, protected_pairs
from gridveil.wall.protection import GROUP_WORDS, Group, Protection

if TYPE_CHECKING:
    from gridveil.check.leaks.groups import GroupReport
    from gridveil.check.leaks.verdict import LeakReport

LINES_ALONE = Protection({Group.LINES: 1.0})
SHOWN = 12
"""Numbers that changed most, in a table."""


def write_internal(
    path: Path,
    truth: Network,
    released: Network,
    protection: Protection | None,
    report: LeakReport,
    *,
    force: bool,
    coordinates: FloatArray | None = None,
) -> Path:
    """Write the page of one release; what is protected is lines, unless a manifest says more."""
    check_file(path, (".html",), path / "none", force=force)
    if (path.parent / bundle.MANIFEST).exists():
        raise ReportError(f"{path} lies in a bundle, and the page is INTERNAL; write it to another folder")
    save(path, internal_page(truth, released, protection or LINES_ALONE, report, coordinates))
    return path


def internal_page(
    truth: Network,
    released: Network,
    protection: Protection,
    report: LeakReport,
    coordinates: FloatArray | None = None,
) -> str:
    """The page as HTML text, the same for the same networks and report on one machine."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with the templates, an extra

    by_group: dict[Group, list[dict[str, Any]]] = {}
    for before, after in protected_pairs(truth, released, protection):
        shown = _shown(before, after)
        figures = {name: Markup(shown[name]) for name in ("scatter", "histogram")}
        by_group.setdefault(before.quantity.group, []).append({**shown, **figures})
    verdicts = {one.group: one for one in report.groups}
    groups = [
        {
            "name": GROUP_WORDS[group],
            "quantities": found,
            "report": _attackers(verdicts[str(group)]) if str(group) in verdicts else None,
        }
        for group, found in by_group.items()
    ]
    grid = truth.grid
    return render(
        "internal.html",
        groups=groups,
        verdict=report.verdict,
        reason=report.reason,
        lines=_lines(report),
        map=Markup(map_block(picture_of(released, original=truth, coordinates=coordinates))),
        placed=coordinates is not None,
        size={"buses": grid.n_bus, "lines": grid.n_line, "generators": grid.n_generator},
    )


def _shown(before: Numbers, after: Numbers) -> dict[str, Any]:
    """One quantity: its figures and the numbers that changed most."""
    quantity, one, other = before.quantity, before.value, after.value
    order = np.argsort(-np.abs(np.log(np.abs(other / one))), kind="stable")[:SHOWN]
    return {
        "words": "marginal costs" if quantity.group is Group.COSTS else quantity.people,
        "unit": quantity.unit,
        "count": len(one),
        "middle": middle_change(one, other),
        "scatter": before_after(one, other, quantity.unit),
        "histogram": histogram(one, other),
        "most": [
            {"name": before.name[i], "before": number(float(one[i])), "after": number(float(other[i])),
             "change": f"{100 * (other[i] / one[i] - 1):+.0f} %".replace("-", "−")}
            for i in order.tolist()
        ],
    }  # fmt: skip


def _attackers(report: GroupReport) -> dict[str, Any]:
    """The table of a group: a row per attacker, a column per quantity."""
    names = list(report.quantities[0].errors)
    percent = [[f"{100 * one.errors[name].median:.1f}" for one in report.quantities] for name in names]
    return {
        "verdict": report.verdict,
        "reason": report.reason,
        "heads": [one.words for one in report.quantities],
        "noise": [f"{100 * one.noise_error:.1f}" for one in report.quantities],
        "rows": [
            {"name": name, "errors": [{"text": text, "best": one.best_attacker == name}
                                      for text, one in zip(row, report.quantities, strict=True)]}
            for name, row in zip(names, percent, strict=True)
        ],
        "verdicts": [one.verdict for one in report.quantities],
    }  # fmt: skip


def _lines(report: LeakReport) -> list[dict[str, str]]:
    """Attackers of lines, if these are protected."""
    return [
        {"name": one.name, "words": one.words, **{
            parameter: "–" if (error := getattr(one, parameter)).lines == 0 else f"{100 * error.median:.1f}"
            for parameter in ("r", "x", "bc")
        }}
        for one in report.attackers
    ]  # fmt: skip
