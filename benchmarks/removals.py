"""Load restoration after random losses of lines, by our own solver and by Ipopt: is the answer the same?

    python benchmarks/removals.py [--count 1000]

A third of the losses take up to a tenth of the lines, a third up to three tenths, a third up to six tenths.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections import Counter
from time import process_time

import numpy as np

import gridveil as gv
from gridveil.nlp.restoration import Restoration, restore
from gridveil.nlp.rules import Rules
from gridveil.nlp.solver import SolverOptions

CASES = ("case5_pjm", "case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
SHARES = (0.1, 0.3, 0.6)
SOLVERS = ("ipopt", "auto")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    random = np.random.default_rng(2026)
    seconds, endings = dict.fromkeys(SOLVERS, 0.0), Counter[str]()
    for k in range(count):
        case = CASES[k % len(CASES)]
        network = gv.load(case)
        n = network.grid.n_line
        cut = random.choice(n, int(random.integers(1, max(2, int(SHARES[k % 3] * n) + 1))), replace=False)
        rules = Rules.SWITCHABLE if k % 2 else Rules.LITERAL
        found: dict[str, Restoration] = {}
        for one in SOLVERS:
            begin = process_time()
            found[one] = restore(network, cut, rules, SolverOptions(solver=one))
            seconds[one] += process_time() - begin
        old, new = (found[one] for one in SOLVERS)
        apart = new.percent - old.percent
        same = new.ending == old.ending and abs(apart) <= 1e-4
        better = new.percent > old.percent + 1e-4
        endings["same" if same else "ours serves more" if better else "ours serves less, or ends otherwise"] += 1
        if not same:
            print(
                f"{case}, {rules}, {len(cut)} lines, loss {k}: {old.ending} {old.percent:.5f} %, "
                f"{new.ending} {new.percent:.5f} %",
                flush=True,
            )
    print(", ".join(f"{name}: {number}" for name, number in endings.most_common()), f"of {count}")
    print(", ".join(f"{name}: {taken:.1f} s of CPU" for name, taken in seconds.items()))


if __name__ == "__main__":
    main()
