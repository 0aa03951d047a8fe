"""`joint`: what protecting more than lines hides, and what it costs a user; by groups, α and room.

Letters: L lines, R ratings, D loads, G limits of units, C costs. Subsets that others have protected by themselves stand
beside: D (Mak et al. 2020: loads), G (Dvorkin and Botterud 2023: capacities), L with charging and losses kept (CSIRO).
"""

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
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import BETA, EPSILON, true_optimum
from gridveil.study.judged import FIGURES, judged
from gridveil.wall.draw import Fidelity, NoisyLines
from gridveil.wall.facts import Source
from gridveil.wall.protection import Group

LETTERS = dict(zip("LRDGC", Group, strict=True))
COLUMNS: dict[str, type] = {
    "certified": bool, "path": str, "why": str, "effort": float, "release_seconds": float, **FIGURES,
}  # fmt: skip
NOTHING: Row = dict.fromkeys(COLUMNS)


def joint_plan(settings: Settings) -> Plan:
    """The plan of a draw; totals come from where the cost does, unless that is published."""
    source = Source(str(settings["source"]))
    totals = Source.DECLARED if source is Source.PUBLISHED else source
    return Plan(
        float(settings.get("epsilon", EPSILON)),
        float(settings["alpha"]),
        float(settings.get("beta", BETA)),
        protect=[LETTERS[letter] for letter in str(settings["groups"])],
        cost=Source.DECLARED if source is Source.PUBLISHED else source,
        totals=totals,
        room=float(settings["room"]),
    )


def joint(network: Network, settings: Settings, seed: int) -> list[Row]:
    """One release, and all that is measured of it."""
    return [measured(network, joint_plan(settings), seed)]


def measured(network: Network, plan: Plan, seed: int, *, reactances: bool = True) -> Row:
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
        figures = judged(network, made, plan.protection.groups, reactances=reactances)
        row |= {"path": made.manifest.repair.path, **figures}
    return row


JOINT = Study(
    "joint",
    "More than lines",
    "ours",
    ("case39_epri", "case118_ieee"),
    {
        "groups": ("L", "D", "G", "LR", "LRD", "LRDG", "LRDGC"), "alpha": (0.1, 0.3, 1.0), "room": (0.001, 0.05),
        "source": (str(Source.PRIVATE), str(Source.DECLARED)),
    },
    COLUMNS,
    joint,
    draws=50,
    version=2,
)  # fmt: skip
