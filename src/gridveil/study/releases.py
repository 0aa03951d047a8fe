"""Studies of releases themselves: Table II, Fig. 1, Fig. 2 and 10, Table III; and ours: `promise` and `scale`."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from gridveil.errors import CertificateFailed, RepairFailed, SolveError
from gridveil.grid import LineParameters, Network
from gridveil.nlp.solver import Status
from gridveil.process.start import isolated
from gridveil.repair.bounds import parameter_box
from gridveil.repair.judge import promised
from gridveil.repair.projection import Aim, Effort, project, projection, starts
from gridveil.repair.trial import rounded
from gridveil.repair.workshop import Workshop
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import LAPLACE, RELEASES, SOURCES, bare, drawn, optimum, released, true_optimum
from gridveil.wall.draw import Repair, Snapshot

SMALL = ("case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
ALPHAS = (0.001, 0.01, 0.1, 1.0)


def feasible(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Is the network that comes out AC-feasible, and if released, certified?"""
    if settings["mechanism"] == LAPLACE:
        solution = optimum(bare(network, settings, seed))
        return [{"feasible": solution.status is Status.OPTIMAL, "certified": None, "detail": str(solution.status)}]
    true_optimum(network)  # without one there is nothing to release, and the task fails
    try:
        made = released(network, settings, seed)
    except (RepairFailed, CertificateFailed) as failure:
        return [{"feasible": False, "certified": False, "detail": str(failure)}]
    return [{"feasible": True, "certified": made.certificate.passed, "detail": made.manifest.repair.path}]


def resistances(network: Network, settings: Settings, seed: int) -> list[Row]:
    """r and x of every line, original and after the mechanism."""
    bare_draw = settings["mechanism"] == LAPLACE
    lines = bare(network, settings, seed).lines if bare_draw else released(network, settings, seed).lines
    (r0, x0), (r1, x1) = network.lines.impedance(), lines.impedance()
    ends, number = network.grid.lines, network.grid.buses.number
    return [
        {
            "line": i + 1,
            "bus_from": int(number[ends.bus_from[i]]),
            "bus_to": int(number[ends.bus_to[i]]),
            "r": r0[i],
            "x": x0[i],
            "released_r": r1[i],
            "released_x": x1[i],
        }
        for i in range(network.grid.n_line)
    ]


def costs(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Change of the optimal dispatch cost in per cent, by the paper's formula: positive where it is cheaper."""
    true = true_optimum(network).cost
    made = (
        bare(network, settings, seed) if settings["mechanism"] == LAPLACE else released(network, settings, seed).network
    )
    solution = optimum(made)
    if solution.status is not Status.OPTIMAL:
        return [{"feasible": False, "cost": None, "difference_pct": None}]
    return [{"feasible": True, "cost": solution.cost, "difference_pct": 100 * (true - solution.cost) / true}]


def runtimes(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Seconds of noise and repair, as the paper's table has them; of the AC-OPF, and of a whole release.

    The repair is timed inside the release, so that it is made once.
    """
    taken: list[tuple[float, Repair]] = []

    class Timed(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            begin = perf_counter()
            result = super().repair(snapshots, patient=patient)
            taken.append((perf_counter() - begin, result))
            return result

    true, clock = true_optimum(network), [perf_counter()]
    optimum(network)
    clock.append(perf_counter())
    drawn(network, settings, seed)
    clock.append(perf_counter())
    released(network, settings, seed, workshop=Timed)
    clock.append(perf_counter())
    opf, noise, whole = np.diff(clock).tolist()
    seconds, result = taken[-1]
    row = {"opf_seconds": opf, "seconds": noise + seconds, "release_seconds": whole}
    return [{**row, "path": result.path, "projections": result.projections, "true_cost": true.cost}]


def promise(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Does the paper's plain projection keep β once its network is optimised again, and what do the cuts cost?

    `away` is from the public cost, which the promise is about; `true_away` from the true one, by source of the cost.
    """
    rows: list[Row] = []

    class Watched(Workshop):
        def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
            begin, cost = perf_counter(), snapshots[0].cost
            lines = _plain(self, snapshots)
            plain = perf_counter() - begin
            away = None if lines is None else _away(Network(network.grid, lines), cost)
            begin = perf_counter()
            kept = super().repair(snapshots, patient=patient)
            rows.append(
                {
                    "plain_away": away, "plain_broken": away is not None and abs(away) > self.fidelity.beta,
                    "plain_seconds": plain, "away": (kept.points[0].cost - cost) / cost, "cuts": kept.cuts,
                    "seconds": perf_counter() - begin,
                }
            )  # fmt: skip
            return kept

    made = released(network, settings, seed, workshop=Watched)
    return [{**rows[0], "true_away": made.point.cost / true_optimum(network).cost - 1}]


def _plain(shop: Workshop, snapshots: Sequence[Snapshot]) -> LineParameters | None:
    """Algorithm 1, line 5, as printed; `None` if nothing is found."""
    grid, fidelity = shop.grid, shop.fidelity
    box = parameter_box(grid, shop.noisy, fidelity.bound_factor)
    program = projection(grid, box, snapshots, [], False)
    aim = [Aim(tolerance, tolerance) for tolerance in promised(snapshots, fidelity)]
    for start in starts(program, box, None, box.network(box.target)):
        outcome = project(program, box, snapshots, fidelity, aim, start, Effort(0.0))
        if outcome.status is Status.OPTIMAL:
            return rounded(box.network(box.clip(outcome.x[program.parameters]))).lines
    return None


def _away(network: Network, cost: float) -> float | None:
    """Relative change of the re-optimised cost."""
    solution = optimum(network)
    return (solution.cost - cost) / cost if solution.status is Status.OPTIMAL else None


def scale(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Time and peak memory of an AC-OPF and of a release, in a process of its own."""
    given = pickle.dumps((network, settings, seed))
    with isolated("gridveil.study.peak") as process:
        try:
            answer, words = process.communicate(given)
        finally:
            process.kill()
    if process.returncode != 0:
        raise SolveError("failed", words.decode(errors="replace")[-300:].strip())
    row: Row = pickle.loads(answer)
    return [{"buses": network.grid.n_bus, "lines": network.grid.n_line, **row}]


FEASIBILITY = Study(
    "feasibility",
    "Share of AC-feasible networks: bare Laplace noise against releases",
    "Table II",
    SMALL,
    {"mechanism": (LAPLACE, *RELEASES), "alpha": ALPHAS},
    {"feasible": bool, "certified": bool, "detail": str},
    feasible,
    version=2,
)
RESISTANCES = Study(
    "resistances",
    "Line resistances before and after",
    "Figure 1",
    ("case39_epri",),
    {"mechanism": (LAPLACE, *RELEASES), "alpha": ALPHAS},
    {"line": int, "bus_from": int, "bus_to": int, "r": float, "x": float, "released_r": float, "released_x": float},
    resistances,
    draws=10,
    version=2,
)
COSTS = Study(
    "costs",
    "Change of the optimal dispatch cost",
    "Figures 2 and 10",
    ("case39_epri",),
    {"mechanism": (LAPLACE, *RELEASES), "alpha": ALPHAS, "beta": (0.01, 0.1)},
    {"feasible": bool, "cost": float, "difference_pct": float},
    costs,
    version=2,
)
RUNTIMES = Study(
    "runtimes",
    "Seconds of a release",
    "Table III",
    ("case3_lmbd", "case5_pjm", "case14_ieee", *SMALL),
    {"mechanism": RELEASES, "alpha": (0.01, 0.1, 1.0)},
    {
        "opf_seconds": float, "seconds": float, "release_seconds": float, "path": str, "projections": int,
        "true_cost": float,
    },
    runtimes,
    version=2,
)  # fmt: skip
PROMISE = Study(
    "promise",
    "How often the plain projection breaks β, and what the cuts cost",
    "ours",
    ("case5_pjm", "case14_ieee", *SMALL),
    {"mechanism": RELEASES, "alpha": (0.01, 0.1, 1.0), "source": SOURCES},
    {
        "plain_away": float, "plain_broken": bool, "plain_seconds": float, "away": float, "cuts": int, "seconds": float,
        "true_away": float,
    },
    promise,
    version=3,
)  # fmt: skip
SCALE = Study(
    "scale",
    "Time and memory by size of the network",
    "ours",
    ("case39_epri", "case57_ieee", "case118_ieee"),
    {"mechanism": ("log",), "alpha": (0.01, 0.1)},
    {
        "buses": int, "lines": int, "opf_seconds": float, "release_seconds": float, "opf_mb": float,
        "release_mb": float, "path": str,
    },
    scale,
    draws=3,
    version=3,
)  # fmt: skip
