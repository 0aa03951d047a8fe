"""Transformers of pandapower as π branches: nameplates on a base of their own, tap changers, T to π, windings to stars.

The T model is pandapower's default (`trafo_model="t"`): half the leakage on each side of the magnetising branch.
"""

from __future__ import annotations

import cmath
import math
from typing import NamedTuple

from gridveil.formats.fields import Fields
from gridveil.formats.tables import Pi

CHANGERS = ("Ratio", "Symmetrical", "Ideal")


class Plate(NamedTuple):
    """What a winding pair says of itself: rated MVA and kV, short-circuit voltages and no-load losses in per cent."""

    sn_mva: float
    vn_hv: float
    vn_lv: float
    vk: float
    vkr: float
    i0: float
    pfe_kw: float
    shift_deg: float


class Tap(NamedTuple):
    """The complex factor of a tap changer's winding, and the side that has it."""

    side: str
    ratio: float
    shift_deg: float


NO_TAP = Tap("", 1.0, 0.0)


def plate_of(one: Fields) -> Plate:
    """The nameplate of a transformer of two windings."""
    names = ("sn_mva", "vn_hv_kv", "vn_lv_kv", "vk_percent", "vkr_percent", "i0_percent", "pfe_kw", "shift_degree")
    plate = Plate(*(one.number(name) for name in names))
    _check_plate(one, plate)
    return plate


def _check_plate(one: Fields, plate: Plate) -> None:
    if min(plate.sn_mva, plate.vn_hv, plate.vn_lv) <= 0:
        one.fail("its rated power or voltages are not positive", "correct its nameplate")
    if abs(plate.vk) < abs(plate.vkr) or plate.vk == 0:
        one.fail("its short-circuit voltage is 0 or below its resistive part", "correct vk_percent and vkr_percent")


def tap_of(one: Fields, number: str = "") -> Tap:
    """The tap changer (a second one has `number` 2) at its position; pandapower ignores one without a type."""
    side, kind = one.text(f"tap{number}_side"), one.text(f"tap{number}_changer_type")
    position = one.values.get(f"tap{number}_pos")
    if one.flag("tap_dependency_table", False) or kind == "Tabular":
        one.fail("its tap changer has a table of its own", "write the ratio at its position into vn_hv_kv or vn_lv_kv")
    if kind not in CHANGERS or side not in ("hv", "lv", "mv") or position is None:
        return NO_TAP
    steps = one.number(f"tap{number}_pos") - one.number(f"tap{number}_neutral")
    percent, degree = (one.number(f"tap{number}_step_{unit}", 0.0) for unit in ("percent", "degree"))
    if kind == "Ideal":
        if percent and degree:
            one.fail("its ideal phase shifter has steps in per cent and in degrees", "keep one of the two")
        half = steps * percent / 200
        if abs(half) > 1:
            one.fail("its phase shifter is beyond half a turn", "correct its steps")
        return Tap(side, 1.0, steps * degree if degree else math.degrees(2 * math.asin(half)))
    factor = 1 + steps * percent / 100 * cmath.exp(1j * math.radians(degree))
    if factor == 0:
        one.fail("its tap changer makes its voltage 0", "correct its steps")
    # pandapower takes the angle from an arc tangent, which is the same for every real tap changer
    return Tap(side, abs(factor), math.degrees(math.atan(factor.imag / factor.real) if factor.real else math.pi / 2))


def two_winding(
    plate: Plate,
    taps: tuple[Tap, ...],
    kv: tuple[float, float],
    base_mva: float,
    parallel: float,
    leak: tuple[float, float],
) -> Pi:
    """The π of a transformer from its high-voltage bus to the other, at buses of `kv`; `leak` is what of resistance and
    reactance lies on the high-voltage side of the magnetising branch."""
    hv, lv, shift = plate.vn_hv, plate.vn_lv, plate.shift_deg
    for tap in taps:
        hv, lv = (hv * tap.ratio, lv) if tap.side == "hv" else (hv, lv * tap.ratio)
        shift += tap.shift_deg if tap.side == "hv" else -tap.shift_deg
    scale = (lv / kv[1]) ** 2 * base_mva / plate.sn_mva / parallel / 100
    r = plate.vkr * scale
    x = math.copysign(math.sqrt((plate.vk - plate.vkr) * (plate.vk + plate.vkr)), plate.vk) * scale
    y = _magnetising(plate) * parallel * (kv[1] / lv) ** 2 / base_mva
    ratio = hv / lv * kv[1] / kv[0]
    if y == 0:
        return Pi(r, x, 0j, 0j, ratio, shift)
    one = complex(r * leak[0], x * leak[1])
    two, across = complex(r, x) - one, 1 / y
    total = one * two + one * across + two * across
    series = total / across
    return Pi(series.real, series.imag, two / total, one / total, ratio, shift)


def _magnetising(plate: Plate) -> complex:
    """MW and Mvar at rated voltage: iron losses, and what the no-load current has beside them."""
    iron = plate.pfe_kw / 1000
    return complex(iron, -math.sqrt(max((plate.i0 / 100 * plate.sn_mva) ** 2 - iron**2, 0.0)))


def star(one: Fields) -> dict[str, tuple[Plate, Tap]]:
    """Three windings as three pairs from a star point at the high voltage: from the hv bus to it, and from it to the
    others. Each with its tap changer, whose side is 'hv' or 'lv' of the pair."""
    sides = ("hv", "mv", "lv")
    sn = {side: one.number(f"sn_{side}_mva") for side in sides}
    kv = {side: one.number(f"vn_{side}_kv") for side in sides}
    if min(*sn.values(), *kv.values()) <= 0:
        one.fail("its rated powers or voltages are not positive", "correct its nameplate")
    pairs = (("hv", "mv"), ("mv", "lv"), ("hv", "lv"))
    vk, vkr = (
        [one.number(f"{name}_{side}_percent") / min(sn[a], sn[b]) for side, (a, b) in zip(sides, pairs, strict=True)]
        for name in ("vk", "vkr")
    )
    if any(abs(a) < abs(b) for a, b in zip(vk, vkr, strict=True)):
        one.fail("a short-circuit voltage is below its resistive part", "correct vk and vkr")
    vki = [math.sqrt((a - b) * (a + b)) for a, b in zip(vk, vkr, strict=True)]
    tap = tap_of(one)
    if one.flag("tap_at_star_point", False) and tap is not NO_TAP:
        one.fail("its tap changer is at the star point", "give the tap changer at the terminal")
    loss_side = one.text("loss_side", "hv")
    found = {}
    for place, side in enumerate(sides):
        r, x = (sn[side] * _leg(values, place) for values in (vkr, vki))
        losses = (one.number("i0_percent"), one.number("pfe_kw")) if side == loss_side else (0.0, 0.0)
        shift = 0.0 if side == "hv" else one.number(f"shift_{side}_degree", 0.0)
        plate = Plate(sn[side], kv["hv"], kv[side], math.copysign(math.hypot(r, x), x), r, *losses, shift)
        if plate.vk == 0:
            one.fail("a winding of its star has no impedance", "give it the small one it has")
        mine = Tap("hv" if side == "hv" else "lv", tap.ratio, tap.shift_deg) if tap.side == side else NO_TAP
        found[side] = (plate, mine)
    return found


def _leg(pairs: list[float], place: int) -> float:
    """Of a star's legs (hv, mv, lv) from what is measured between (hv mv), (mv lv) and (hv lv)."""
    between, other, third = ((0, 2, 1), (0, 1, 2), (1, 2, 0))[place]
    return (pairs[between] + pairs[other] - pairs[third]) / 2
