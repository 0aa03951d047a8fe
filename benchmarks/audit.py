"""Audits of whole releases on the default path, by the hundred. Page: docs/results/facts.md.

    python benchmarks/audit.py run results.jsonl [--cases 3,5,14,30] [--pairs 5] [--draws 300]     # resumable
    python benchmarks/audit.py show results.jsonl

Pairs of networks that differ in one coordinate of one corridor by α = 10 % and in the surcharge by s = 0.25 % at most,
those that move the cost most first; ε = 1, mechanism `log`, --cost private. The attacker (tests/release_audit.py) knows
both.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.release_audit import collect, compare, is_adjacent, pairs_within

import gridveil as gv
from gridveil.privacy.noise import SeededNoise

ALPHA, S = 0.1, 0.0025


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.file)
    done = {tuple(json.loads(line)["key"]) for line in path.read_text().splitlines()} if path.exists() else set()
    plan = gv.Plan(1.0, ALPHA, 0.05)
    for case in arguments.cases.split(","):
        network, noise = gv.load(f"case{case}"), SeededNoise(int(case))
        ones = None
        for number, pair in enumerate(pairs_within(network, ALPHA, S, arguments.pairs)):
            if (case, number) in done:
                continue
            ones = ones or collect(network, plan, arguments.draws, noise)
            found = compare(pair, ones, collect(pair.other, plan, arguments.draws, noise))
            row = {"key": (case, number), "adjacent": is_adjacent(pair, ALPHA), "moved": pair.moved}
            with path.open("a") as stream:
                stream.write(json.dumps({**row, "draws": arguments.draws, "bounds": found}) + "\n")


def show(path: Path) -> None:
    print("| buses | pair | D/s | releases | largest lower bound of the loss | by |")
    print("|--:|--:|--:|--:|--:|---|")
    for line in path.read_text().splitlines():
        row = json.loads(line)
        name = max(row["bounds"], key=lambda one: row["bounds"][one])
        moved, draws = row["moved"] / S, 2 * row["draws"]
        print(f"| {row['key'][0]} | {row['key'][1] + 1} | {moved:.2f} | {draws} | {row['bounds'][name]:.2f} | {name} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show"))
    parser.add_argument("file")
    parser.add_argument("--cases", default="3,5,14,30")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--draws", type=int, default=300)
    given = parser.parse_args()
    if given.command == "run":
        run(given)
    else:
        show(Path(given.file))
