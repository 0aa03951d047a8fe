"""Solved state: voltages and dispatch in a file tell about the network that they solve, whichever it is."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import spsolve

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import Reader, View
from gridveil.grid import LineParameters, Network, OperatingPoint, line_flows, violations

SOLVES = 1e-6
"""Per unit: a state whose balance is off by more is not that of the network in the file."""


def imbalance(network: Network, state: OperatingPoint) -> float:
    """How far a state is from solving a network, in per unit."""
    judged = violations(network.grid, network.lines, state)
    return max(judged.balance_p, judged.balance_q)


def from_state(reader: Reader, held: View) -> LineParameters | None:
    """The lines nearest to the released ones that the state in the file solves; `None` if it solves those.

    Flows are linear in g, b and bc once voltages are known, so the balance of every bus is two linear equations.
    Nearest is relative: a line may move by its noise.
    """
    if reader.state is None or imbalance(reader.network, reader.state) <= SOLVES:
        return None
    lines, system = held.network.lines, _balance(held.network, reader.state)
    value = np.concatenate([lines.g, lines.b, lines.bc])
    room = diags_array((np.tile(held.noise.size.scale, 3) * np.abs(value)) ** 2)
    missing = _wanted(held.network, reader.state) - system @ value
    normal = system @ room @ system.T
    damping = 1e-12 * max(float(normal.diagonal().max(initial=0.0)), 1e-12)
    found = value + room @ (system.T @ spsolve((normal + damping * eye_array(normal.shape[0])).tocsc(), missing))
    g, b, bc = np.split(found, 3)
    return LineParameters(g, b, bc) if np.all(np.isfinite(found)) and np.all(g**2 + b**2 > 0) else None


def _balance(network: Network, state: OperatingPoint) -> csr_array:
    """The matrix that takes (g, b, bc) of all lines to the active and reactive power they draw from every bus."""
    grid, n = network.grid, network.grid.n_line
    voltage, one, none = state.vm * np.exp(1j * state.va), np.ones(n), np.zeros(n)
    rows, columns, entries = [], [], []
    for k, unit in enumerate(((one, none, none), (none, one, none), (none, none, one))):
        flows = line_flows(grid, LineParameters(*unit), voltage)
        for bus, flow in zip((grid.lines.bus_from, grid.lines.bus_to), flows, strict=True):
            for shift, part in ((0, flow.real), (grid.n_bus, flow.imag)):
                rows.append(bus + shift)
                columns.append(np.arange(n) + k * n)
                entries.append(part)
    place = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(entries), place), shape=(2 * grid.n_bus, 3 * n)).tocsr()


def _wanted(network: Network, state: OperatingPoint) -> FloatArray:
    """Generation less demand and shunts at every bus, active then reactive: what the lines must draw."""
    grid = network.grid
    power = -(grid.buses.pd + 1j * grid.buses.qd) - state.vm**2 * (grid.buses.gs - 1j * grid.buses.bs)
    np.add.at(power, grid.generators.bus, state.pg + 1j * state.qg)
    return np.concatenate([power.real, power.imag])
