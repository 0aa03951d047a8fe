"""Fig. 7 and 8: what an attacker gains from a release over r steps."""

from __future__ import annotations

from gridveil.charts.chart import Section
from gridveil.charts.results import Results
from gridveil.grid import Network
from gridveil.study.attacked import COLUMNS, WHO, attacked, over_steps
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES
from gridveil.study.restored import restored


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """As `attacks`, on releases over r steps."""
    return attacked(network, over_steps(network, settings, seed), (5.0, 10.0, 15.0), WHO, seed)


def section(results: Results) -> Section:
    """As that of `attacks`, a column of panels per α and r."""
    return restored(results, ("alpha", "steps"))


STUDY = Study(
    name="time-series-attacks",
    title="Load restored after attacks on releases over a horizon",
    question="Does a release over many steps help an attacker more than one of a single step?",
    paper="Figures 7 and 8",
    cases=("case39_epri",),
    settings={"mechanism": RELEASES, "alpha": (0.01, 0.1), "steps": (4, 31)},
    columns=COLUMNS,
    work=measure,
    section=section,
    version=2,
)
