"""The most load that a network could serve: an upper bound by the SOC relaxation.

Each bus serves a share of its demand, at its own power factor; generators may shut down; each shunt may give anything
from nothing to all of what it gives; an island may go dark as a whole. Voltage, thermal and angle limits hold wherever
there is light. Whatever a restoration serves within these rules, it does not serve more than this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.conic.dispatch import Ranges, add_generation
from gridveil.conic.program import Builder, ConicProgram
from gridveil.conic.relaxation import Limits, checked, judge
from gridveil.conic.soc import relaxed_flow
from gridveil.grid.cost import CostCurves
from gridveil.grid.network import Buses, Generators, LineParameters, Lines, PublicGrid
from gridveil.grid.topology import islands
from gridveil.status import Status


@dataclass(frozen=True)
class ServedBound:
    """No restoration serves more than `bound`, in per unit of active power; it is proven whatever the status.

    `by_island` is the bound of each island, in the order of `grid.topology.islands`. The status is that of the first
    island whose bound may be far too high, `optimal` if there is none.
    """

    bound: float
    by_island: FloatArray
    status: Status
    seconds: float


def served_bound(
    grid: PublicGrid,
    lines: LineParameters,
    demand: tuple[FloatArray, FloatArray] | None = None,
    limits: Limits | None = None,
) -> ServedBound:
    """Bound the active power served, over all buses with positive active demand, from above."""
    pd, qd = checked(grid, lines, demand)
    island = islands(grid)
    wanted = np.bincount(island, np.maximum(pd, 0.0))
    # a negative load, conductance or resistance makes active power too
    source = np.bincount(island, (pd < 0) | (grid.buses.gs < 0))
    source += np.bincount(island[grid.generators.bus], minlength=len(wanted))
    source += np.bincount(island[grid.lines.bus_from], lines.g < 0, minlength=len(wanted))
    most, status, seconds = np.zeros(len(wanted)), Status.OPTIMAL, 0.0
    for k in np.flatnonzero((wanted > 0) & (source > 0)):
        buses = np.flatnonzero(island == k)
        part, part_lines = _part(grid, lines, buses)
        solved = judge("served load", served_program(part, part_lines, (pd[buses], qd[buses])), limits or Limits())
        most[k] = max(min(-solved.bound, wanted[k]), 0.0)  # an infeasible island is dark
        seconds += solved.seconds
        if status is Status.OPTIMAL and solved.status is not Status.INFEASIBLE:
            status = solved.status
    return ServedBound(float(np.sum(most)), most, status, seconds)


def served_program(grid: PublicGrid, lines: LineParameters, demand: tuple[FloatArray, FloatArray]) -> ConicProgram:
    """Minimise minus the load served by an island."""
    buses, generators = grid.buses, grid.generators
    pd, qd = demand
    builder = Builder()
    flow = relaxed_flow(builder, grid, lines)
    share = builder.variables(np.zeros(grid.n_bus), np.where((pd != 0) | (qd != 0), 1.0, 0.0))
    builder.minimise(share, -np.maximum(pd, 0.0))
    builder.add(flow.balance_p, share * pd)
    builder.add(flow.balance_q, share * qd)
    shunt = np.flatnonzero((buses.gs != 0) | (buses.bs != 0))
    connected = builder.variables(np.zeros(len(shunt)), buses.vmax[shunt] ** 2, implied=True)  # share of shunt × w
    builder.nonnegative(connected)
    builder.nonnegative(flow.w[shunt] - connected)
    builder.add(flow.balance_p[shunt], connected * buses.gs[shunt])
    builder.add(flow.balance_q[shunt], connected * -buses.bs[shunt])
    ranges = Ranges(
        np.minimum(generators.pmin, 0.0), np.maximum(generators.pmax, 0.0),
        np.minimum(generators.qmin, 0.0), np.maximum(generators.qmax, 0.0),
    )  # fmt: skip
    add_generation(builder, grid, flow, ranges, demand, None)
    return builder.build()


def _part(grid: PublicGrid, lines: LineParameters, buses: IntArray) -> tuple[PublicGrid, LineParameters]:
    """One island as a grid of its own; costs are left behind."""
    index = np.full(grid.n_bus, -1)
    index[buses] = np.arange(len(buses))
    ends = np.flatnonzero(index[grid.lines.bus_from] >= 0)
    here = np.flatnonzero(index[grid.generators.bus] >= 0)
    own_lines = {name: values[ends] for name, values in vars(grid.lines).items()}
    own_lines["bus_from"], own_lines["bus_to"] = index[own_lines["bus_from"]], index[own_lines["bus_to"]]
    own_generators = {name: values[here] for name, values in vars(grid.generators).items()}
    own_generators["bus"] = index[own_generators["bus"]]
    part = PublicGrid(
        base_mva=grid.base_mva,
        buses=Buses(**{name: values[buses] for name, values in vars(grid.buses).items()}),
        generators=Generators(**own_generators),
        lines=Lines(**own_lines),
        cost_p=CostCurves.zero(len(here)),
        cost_q=CostCurves.zero(len(here)),
    )
    return part, LineParameters(lines.g[ends], lines.b[ends], lines.bc[ends])
