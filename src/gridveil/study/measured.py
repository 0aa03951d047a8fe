"""One release in research mode, measured: what its repair took, and what it hides and keeps. For studies, benchmarks
and advice."""

from __future__ import annotations

from time import perf_counter

from gridveil.errors import ReleaseError
from gridveil.grid import Grid, Network
from gridveil.nlp.effort import ITERATIONS
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.plan import Plan
from gridveil.repair.workshop import Told, Workshop, silent
from gridveil.sealed.split import split
from gridveil.study.declare import Row
from gridveil.study.draws import true_optimum
from gridveil.study.judged import FIGURES, judged
from gridveil.wall.draw import Fidelity, NoisyLines

COLUMNS: dict[str, type] = {
    "certified": bool, "path": str, "why": str, "effort": float, "release_seconds": float, **FIGURES,
}  # fmt: skip
NOTHING: Row = dict.fromkeys(COLUMNS)


def measured(
    network: Network, plan: Plan, seed: int, *, readers: bool = True, reactances: bool = True, beside: bool = True
) -> Row:
    """What became of one draw: the effort of its repair in AC-OPFs of the original, and the figures of a release."""
    solves = [0.0]

    class Counted(Workshop):
        def begin(self, grid: Grid, noisy: NoisyLines, fidelity: Fidelity, told: Told = silent) -> Counted:
            return super().begin(grid, noisy, fidelity, lambda spent: solves.__setitem__(0, spent))

    true, begin = true_optimum(network), perf_counter()
    row: Row = dict(NOTHING)
    try:
        made = release(split(network), plan, noise=SeededNoise(seed), workshop=Counted)
    except ReleaseError as failure:
        made, row["why"] = None, str(failure)[:160]
    row["release_seconds"] = perf_counter() - begin
    row["effort"] = solves[0] * ITERATIONS / true.iterations
    row["certified"] = made is not None and made.certificate.passed
    if made is not None:
        groups = plan.protection.groups
        figures = judged(network, made, groups, readers=readers, reactances=reactances, beside=beside)
        row |= {"path": made.manifest.repair.path, **figures}
    return row
