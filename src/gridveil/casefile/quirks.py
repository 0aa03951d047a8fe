"""What is unusual about a case and how this package reads it: nothing is passed over in silence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.service import branches_in_service, buses_in_service, generators_in_service
from gridveil.casefile.to_network import to_network
from gridveil.grid.topology import corridors, islands


@dataclass(frozen=True)
class Quirk:
    """One unusual feature, how often it occurs, and what is made of it."""

    name: str
    count: int
    reading: str


def quirks(case: Case) -> tuple[Quirk, ...]:
    """Every unusual feature of a case that occurs in it, in a fixed order."""
    found = [*_bus_quirks(case), *_generator_quirks(case), *_line_quirks(case), *_topology_quirks(case)]
    found += [
        Quirk(f"columns of mpc.{name} beyond the format's {known}", getattr(case, name).shape[1] - known, "not read")
        for name, known in c.KNOWN.items()
    ]
    found += [
        Quirk(f"field {name}", 1, "kept by the writer, not used by the model")
        for name in case.extras
        if name != "dcline"
    ]
    if "dcline" in case.extras:
        found.append(Quirk("DC lines out of service", len(case.extras["dcline"]), "left out"))
    return tuple(quirk for quirk in found if quirk.count > 0)


def _count(mask: BoolArray) -> int:
    return int(np.count_nonzero(mask))


def _bus_quirks(case: Case) -> list[Quirk]:
    bus = case.bus[buses_in_service(case)]
    number = bus[:, c.BUS_NUMBER]
    return [
        Quirk("isolated buses", _count(~buses_in_service(case)), "left out, with what is attached to them"),
        Quirk("buses out of order", _count(np.diff(number) < 0), "numbers are names; the order does not matter"),
        Quirk("gaps in the bus numbers", _count(np.diff(np.sort(number)) > 1), "numbers are names"),
        Quirk("buses without base kV", _count(bus[:, c.BASE_KV] == 0), "a voltage level of their own"),
        Quirk("negative loads", _count(bus[:, c.PD] < 0), "injections"),
    ]


def _generator_quirks(case: Case) -> list[Quirk]:
    if len(case.gen) == 0:
        return [Quirk("no generators", 1, "nothing can be dispatched")]
    live = generators_in_service(case)
    gen = case.gen[live]
    load = (gen[:, c.PMIN] < 0) & (gen[:, c.PMAX] == 0)
    unlimited = ~np.all(np.isfinite(gen[:, [c.PMIN, c.PMAX, c.QMIN, c.QMAX]]), axis=1)
    result = [
        Quirk("generators out of service", _count(~live), "left out"),
        Quirk("dispatchable loads", _count(load), "generators with negative output; their power factor is free"),
        Quirk("generators with an infinite limit", _count(unlimited), "no bound on that side"),
    ]
    if gen.shape[1] > c.QC2MAX:
        curve = np.any(gen[:, c.PC1 : c.QC2MAX + 1] != 0, axis=1)
        result.append(Quirk("PQ capability curves", _count(curve), "not used: the box of limits holds"))
    if len(case.gencost) == 0:
        return [*result, Quirk("no generator costs", 1, "every dispatch costs 0")]
    piecewise = case.gencost[np.resize(live, len(case.gencost)), c.COST_MODEL] == c.PIECEWISE
    return [
        *result,
        Quirk("piecewise-linear costs", _count(piecewise), "exact, by epigraph"),
        Quirk("reactive costs", len(gen) if len(case.gencost) > len(case.gen) else 0, "part of the cost"),
    ]


def _line_quirks(case: Case) -> list[Quirk]:
    if len(case.branch) == 0:
        return []
    live = branches_in_service(case)
    line = case.branch[live]
    unlimited_angle = np.ones(len(line), dtype=bool)
    if line.shape[1] > c.ANGLE_MAX:
        low, high = line[:, c.ANGLE_MIN], line[:, c.ANGLE_MAX]
        unlimited_angle = ((low == 0) & (high == 0)) | ((low <= -360) & (high >= 360))
    return [
        Quirk("lines out of service", _count(~live), "left out"),
        Quirk("lines with r = 0", _count(line[:, c.R] == 0), "lossless"),
        Quirk("lines with r < 0", _count(line[:, c.R] < 0), "kept as they are"),
        Quirk("lines with x < 0", _count(line[:, c.X] < 0), "kept as they are"),
        Quirk("phase shifters", _count(line[:, c.SHIFT] != 0), "part of the model"),
        Quirk("lines without a rating", _count((line[:, c.RATE_A] == 0) | np.isinf(line[:, c.RATE_A])), "unlimited"),
        Quirk("lines without angle limits", _count(unlimited_angle), "unlimited"),
    ]


def _topology_quirks(case: Case) -> list[Quirk]:
    grid = to_network(case).grid
    island, corridor = islands(grid), corridors(grid)
    lines_in = np.bincount(corridor, minlength=1)
    references = grid.buses.is_reference
    with_reference = np.unique(island[references])
    n_island = int(island.max()) + 1 if len(island) else 0
    has_generator = np.isin(np.arange(grid.n_bus), grid.generators.bus)
    return [
        Quirk("islands beyond the first", n_island - 1, "each has its own angle reference"),
        Quirk("islands without a reference bus", n_island - len(with_reference), "the largest generator's bus serves"),
        Quirk("surplus reference buses", _count(references) - len(with_reference), "the first of an island serves"),
        Quirk("reference buses without a generator", _count(references & ~has_generator), "an angle reference only"),
        Quirk("lines parallel to another", int(lines_in[lines_in > 1].sum()), "one corridor per pair of buses"),
    ]
