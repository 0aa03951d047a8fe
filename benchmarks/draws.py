"""What a draw of `gridveil draws` costs beside the bare repair of its noisy numbers: they take turns, draw by draw.

    python benchmarks/draws.py [DRAWS]

The bare repair is the public side's work on one draw, from its noisy numbers to a network that keeps the promises,
patterns built. The draw has that, its noise, what the noisy numbers say of the cost, the answer, the certificate, and
its rows on disk. Processor time, so that other work on the machine counts in neither.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import process_time

import gridveil as gv
from gridveil.errors import RepairFailed
from gridveil.repair.workshop import Workshop
from gridveil.study import drawn, many
from gridveil.study.drawn_tables import schemas, settings_of, tables
from gridveil.wall.draw import Repair

WANTED, PART = 1.3, 100
"""What is wanted, and the draws of a part: those of some 20 seconds, as a run writes them."""
asked: list[tuple[Workshop, object, bool]] = []


class Kept(Workshop):
    """A workshop that remembers what it was asked to repair."""

    def repair(self, snapshots: object, *, patient: bool = True) -> Repair:
        asked.append((self, snapshots, patient))
        return super().repair(snapshots, patient=patient)  # type: ignore[arg-type]


def measure(case: str, alpha: float, count: int) -> tuple[float, float]:
    """Seconds of draws with their rows on disk, and of the bare repairs."""
    network, plan = gv.load(case), gv.Plan(1.0, alpha, 0.01)
    settings = settings_of([plan])
    schema, whole, bare = schemas(network, settings), 0.0, 0.0
    vars(many)["Workshop"] = Kept
    with tempfile.TemporaryDirectory() as folder:
        store, waiting = drawn._Store(Path(folder)), list[tuple[int, int, gv.ResearchDraw]]()
        draws = many.draw_tasks(gv.seal(network), [plan], [(0, seed) for seed in range(count + 1)])
        store.add(tables([(0, 0, next(draws))], settings, schema))  # builds patterns, loads libraries: once per run
        for number in range(1, count + 1):
            asked.clear()
            begin = process_time()
            waiting.append((number, 0, next(draws)))
            if number % PART == 0 or number == count:
                store.add(tables(waiting, settings, schema))
                waiting.clear()
            whole += process_time() - begin
            for shop, snapshots, patient in tuple(asked):
                begin = process_time()
                with suppress(RepairFailed):  # as it ended in the draw, which then tries another way
                    Workshop().begin(shop.grid, shop.noisy, shop.fidelity).repair(snapshots, patient=patient)  # type: ignore[arg-type]
                bare += process_time() - begin
    return whole, bare


def main() -> None:
    """Print a row per α."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for alpha in (0.1, 0.3):
        whole, bare = measure("case39_epri", alpha, count)
        ratio = whole / bare
        print(
            f"| a draw of case39_epri in a dataset, α = {alpha:g}, bare repair | {whole / count:.3f} s against "
            f"{bare / count:.3f} s: {ratio:.2f}× | ≤ {WANTED:g}× | {'yes' if ratio <= WANTED else 'NO'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
