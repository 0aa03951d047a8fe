"""Costs of pandapower's units: polynomials up to the square, and slopes over ranges of power."""

from __future__ import annotations

from typing import TypeAlias

from gridveil.formats.fields import Fields
from gridveil.formats.pandapower_net import Net
from gridveil.formats.tables import piecewise, polynomial

Costs: TypeAlias = dict[tuple[str, int, str], list[float]]
"""(table, index, 'p' or 'q') -> a row of gencost."""
KINDS = ("ext_grid", "gen", "sgen", "load")


def costs(net: Net) -> Costs:
    """Rows of gencost. What a load takes is negative power, and pandapower turns the sign of its whole cost."""
    found: Costs = {}
    for one in net["poly_cost"].values():
        kind, index, sign = _element(net, one)
        active = [sign * one.number(f"cp{k}_eur{unit}", 0.0) for k, unit in enumerate(("", "_per_mw", "_per_mw2"))]
        reactive = [
            sign * one.number(f"cq{k}_eur{unit}", 0.0) for k, unit in enumerate(("", "_per_mvar", "_per_mvar2"))
        ]
        _give(one, found, (kind, index, "p"), polynomial(*active))
        if any(reactive):
            _give(one, found, (kind, index, "q"), polynomial(*reactive))
    for one in net["pwl_cost"].values():
        kind, index, sign = _element(net, one)
        power = one.text("power_type", "p")
        if power not in ("p", "q"):
            one.fail("its power_type is neither p nor q", "correct it")
        _give(one, found, (kind, index, power), piecewise(_points(one, sign)))
    return found


def _element(net: Net, one: Fields) -> tuple[str, int, float]:
    kind, index = one.text("et"), int(one.number("element"))
    if kind not in KINDS or index not in net[kind]:
        one.fail("it is the cost of an element that this model or this net does not have", "delete it")
    return kind, index, -1.0 if kind == "load" else 1.0


def _give(one: Fields, found: Costs, key: tuple[str, int, str], row: list[float]) -> None:
    if key in found:
        one.fail("this element has two costs", "keep one of the two")
    found[key] = row


def _points(one: Fields, sign: float) -> list[tuple[float, float]]:
    """Points of the curve whose slopes are given over consecutive ranges; it begins at its first power times slope."""
    ranges = one.values.get("points")
    if not isinstance(ranges, list) or not ranges or not all(isinstance(r, list) and len(r) == 3 for r in ranges):
        one.fail("its points are not [from, to, slope]", "give ranges of power with their slopes")
    found: list[tuple[float, float]] = []
    for part in ranges:
        field = Fields(one.path, one.record, dict(zip(("from", "to", "slope"), part, strict=True)))
        low, high, slope = field.number("from"), field.number("to"), sign * field.number("slope")
        if not found:
            found.append((low, low * slope))
        elif found[-1][0] != low:
            one.fail("its ranges do not follow one another", "sort them and close the gaps")
        found.append((high, found[-1][1] + (high - low) * slope))
    return found
