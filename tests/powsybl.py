"""The admittance matrix of a network as pypowsybl reads it, and as we do: by bus number, star points eliminated."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.casefile import Case
from gridveil.casefile import columns as c
from gridveil.casefile.service import branches_in_service, bus_rows, buses_in_service, generators_in_service


def ours(case: Case, keep: list[int]) -> np.ndarray:
    """Our matrix, reduced to the buses `keep`, in their order."""
    live = np.flatnonzero(buses_in_service(case))
    index = {int(number): at for at, number in enumerate(case.bus[live, c.BUS_NUMBER].tolist())}
    matrix = np.zeros((len(live), len(live)), dtype=complex)
    for row in case.branch[branches_in_service(case)].tolist():
        f, t = index[int(row[c.FROM])], index[int(row[c.TO])]
        tap = (row[c.RATIO] or 1.0) * np.exp(1j * np.deg2rad(row[c.SHIFT]))
        series, half = 1 / (row[c.R] + 1j * row[c.X]), 0.5j * row[c.B]
        matrix[f, f] += (series + half) / abs(tap) ** 2
        matrix[t, t] += series + half
        matrix[f, t] -= series / np.conj(tap)
        matrix[t, f] -= series / tap
    matrix[np.diag_indices(len(live))] += (case.bus[live, c.GS] + 1j * case.bus[live, c.BS]) / case.base_mva
    return _reduced(matrix, [index[number] for number in keep])


def _reduced(matrix: np.ndarray, keep: list[int]) -> np.ndarray:
    rest = [at for at in range(len(matrix)) if at not in set(keep)]
    kept = matrix[np.ix_(keep, keep)]
    if not rest:
        return kept
    inner = np.linalg.solve(matrix[np.ix_(rest, rest)], matrix[np.ix_(rest, keep)])
    return np.asarray(kept - matrix[np.ix_(keep, rest)] @ inner)


class Powsybl:
    """What pypowsybl makes of a file, in per unit of the file's base."""

    def __init__(self, path: Path, base: float) -> None:
        self.network: Any = import_module("pypowsybl.network").load(str(path))
        self.network.per_unit = True
        self.network.nominal_apparent_power = base
        found = self.network.get_bus_breaker_view_buses().index
        self.buses = [int(re.sub(r"\D", "", name)) for name in found]
        self.place = {name: at for at, name in enumerate(found)}

    def matrix(self) -> np.ndarray:
        """Its admittance matrix, in the order of `buses`."""
        stars = self.network.get_3_windings_transformers(all_attributes=True)
        count = len(self.buses)
        matrix = np.zeros((count + len(stars), count + len(stars)), dtype=complex)
        self._lines(matrix)
        for _, row in self.network.get_2_windings_transformers(all_attributes=True).iterrows():
            if row.connected1 and row.connected2:
                ends = self.place[row.bus_breaker_bus1_id], self.place[row.bus_breaker_bus2_id]
                _transformer(matrix, ends, row.rho, row.alpha, row, "")
        for at, (_, row) in enumerate(stars.iterrows()):
            for n in (1, 2, 3):
                if row[f"connected{n}"]:
                    ends = self.place[row[f"bus_breaker_bus{n}_id"]], count + at
                    _transformer(matrix, ends, row[f"rho{n}"], row[f"alpha{n}"], row, str(n))
        for _, row in self.network.get_shunt_compensators(all_attributes=True).iterrows():
            if row.connected:
                matrix[(self.place[row.bus_breaker_bus_id],) * 2] += row.g + 1j * row.b
        return _reduced(matrix, list(range(count)))

    def _lines(self, matrix: np.ndarray) -> None:
        for _, row in self.network.get_lines(all_attributes=True).iterrows():
            if not (row.connected1 and row.connected2):
                continue
            f, t = self.place[row.bus_breaker_bus1_id], self.place[row.bus_breaker_bus2_id]
            series = 1 / (row.r + 1j * row.x)
            matrix[f, f] += series + row.g1 + 1j * row.b1
            matrix[t, t] += series + row.g2 + 1j * row.b2
            matrix[f, t] -= series
            matrix[t, f] -= series

    def injections(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Demand by bus, and (p, min, max, q limits) of every connected unit by its name."""
        demand = np.zeros(len(self.buses), dtype=complex)
        for _, row in self.network.get_loads(all_attributes=True).iterrows():
            if row.connected:
                demand[self.place[row.bus_breaker_bus_id]] += row.p0 + 1j * row.q0
        units = self.network.get_generators(all_attributes=True)
        names = ["target_p", "min_p", "max_p", "min_q", "max_q"]
        return demand, {name.strip(): row[names].to_numpy(float) for name, row in units.iterrows() if row.connected}


def _transformer(matrix: np.ndarray, ends: tuple[int, int], rho: float, alpha: float, row: Any, n: str) -> None:
    f, t = ends
    r, x, g, b = (row[f"{name}{n}_at_current_tap"] for name in "rxgb")
    series = 1 / (r + 1j * x)
    matrix[f, f] += rho**2 * (series + g + 1j * b)
    matrix[t, t] += series
    matrix[f, t] -= rho * np.exp(-1j * alpha) * series
    matrix[t, f] -= rho * np.exp(1j * alpha) * series


def our_units(case: Case, machine: tuple[str, ...]) -> dict[str, np.ndarray]:
    """(p, min, max, q limits) in per unit of every unit in service, by the name that pypowsybl gives it."""
    columns = [c.PG, c.PMIN, c.PMAX, c.QMIN, c.QMAX]
    rows = np.flatnonzero(generators_in_service(case)).tolist()
    return {f"B{case.gen[at, 0]:.0f}-G{machine[at]}": case.gen[at, columns] / case.base_mva for at in rows}


def our_demand(case: Case, buses: list[int]) -> np.ndarray:
    """Demand by bus in per unit."""
    row = bus_rows(case, np.array(buses, dtype=float))
    return np.asarray((case.bus[row, c.PD] + 1j * case.bus[row, c.QD]) / case.base_mva)
