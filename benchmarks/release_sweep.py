"""Releases by the hundred: are all of them certified, how often are cuts needed, and what do they cost?

    python benchmarks/release_sweep.py run results.jsonl --draws 100 [--part 0/2]     # resumable
    python benchmarks/release_sweep.py page results*.jsonl > docs/results/release.md

Draws are seeded (research mode) and the repair runs in this process, so that only the release itself is timed. A draw
is one whole release: dispatch cost, noise, repair, file written and read back, certificate.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import zlib
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import gridveil as gv
from gridveil.errors import ReleaseError
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


def cases() -> dict[str, str]:
    found = {name: name for name in SHIPPED}
    return found | {
        f"nesta_{name}": str(NESTA / f"nesta_{name}.m") for name in PAPER if (NESTA / f"nesta_{name}.m").exists()
    }


def draw(network: Any, mechanism: str, alpha: float, seed: int) -> dict[str, Any]:
    begin = perf_counter()
    try:
        made = release(split(network), Plan(1.0, alpha, 0.01, mechanism), noise=SeededNoise(seed), workshop=Workshop)
    except ReleaseError as error:
        return {"certified": False, "error": str(error), "seconds": perf_counter() - begin}
    record = made.manifest
    return {
        "certified": made.certificate.passed,
        "path": record.repair.path,
        "cuts": record.repair.cuts,
        "factor": record.fidelity.bound_factor,
        "seconds": perf_counter() - begin,
    }


def run(target: Path, draws: int, part: tuple[int, int]) -> None:
    done = set()
    if target.exists():
        done = {tuple(json.loads(line)["key"]) for line in target.read_text().splitlines()}
    todo = [(name, m, a) for name in cases() for m, alphas in ALPHAS.items() for a in alphas]
    for name, mechanism, alpha in todo[part[0] :: part[1]]:
        network = gv.load(cases()[name])
        model = opf_model(network.grid)
        with target.open("a") as stream:
            for k in range(draws):
                if (name, mechanism, alpha, k) in done:
                    continue
                begin = perf_counter()
                solve_opf(model, network.lines).require()
                one = perf_counter() - begin
                seed = zlib.crc32(f"{name}|{mechanism}|{alpha}|{k}".encode())
                record = {"key": (name, mechanism, alpha, k), "opf": one, **draw(network, mechanism, alpha, seed)}
                stream.write(json.dumps(record) + "\n")
                stream.flush()
        print(name, mechanism, alpha, flush=True)


def page(files: list[Path]) -> None:
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        for line in file.read_text().splitlines():
            record = json.loads(line)
            groups[tuple(record["key"][:3])].append(record)
    heads = "network|mechanism|α|draws|certified|as drawn|promise broken without cuts|most cuts|box widened"
    print("|" + heads + "|median time (AC-OPFs)|longest (s)|")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    order = list(cases())
    for (name, mechanism, alpha), records in sorted(
        groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1:])
    ):
        good = [record for record in records if record["certified"]]
        print(
            f"| {name} | {mechanism} | {alpha:g} | {len(records)} | {len(good)} | "
            f"{sum(r['path'] == 'as drawn' for r in good)} | {sum(r['cuts'] > 0 for r in good)} | "
            f"{max((r['cuts'] for r in good), default=0)} | {sum(r['factor'] > 50 for r in good)} | "
            f"{median(r['seconds'] for r in records) / median(r['opf'] for r in records):.1f} | "
            f"{max(r['seconds'] for r in records):.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--part", default="0/1")
    arguments = parser.parse_args()
    if arguments.what == "page":
        page(arguments.files)
    else:
        k, n = map(int, arguments.part.split("/"))
        run(arguments.files[0], arguments.draws, (k, n))


if __name__ == "__main__":
    main()
