"""Fig. 4 to 6: what an attacker gains from a release. A row is one attack."""

from __future__ import annotations

from dataclasses import replace

from gridveil.charts.chart import Section
from gridveil.charts.results import Results
from gridveil.grid import Network
from gridveil.study.attacked import COLUMNS, WHO, attacked
from gridveil.study.declare import Row, Settings, Study
from gridveil.study.draws import RELEASES, released
from gridveil.study.restored import restored


def measure(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Budgets of 5, 10 and 15 %."""
    return attacked(network, released(network, settings, seed).network, (5.0, 10.0, 15.0), WHO, seed)


def measure_fine(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Budgets from 5 to 10 %, one by one."""
    budgets = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
    return attacked(network, released(network, settings, seed).network, budgets, WHO, seed)


def section(results: Results) -> Section:
    """Load restored by budget, a column of panels per α, a row per restoration model."""
    return restored(results, ("alpha",))


STUDY = Study(
    name="attacks",
    title="Load restored after attacks",
    question="How much more damage does an attacker do who has the release?",
    paper="Figures 4 and 5",
    cases=("case39_epri", "case118_ieee"),
    settings={"mechanism": RELEASES, "alpha": (0.01, 0.1, 1.0)},
    columns=COLUMNS,
    work=measure,
    section=section,
    version=2,
)
FINE = replace(
    STUDY,
    name="attacks-fine",
    title="Load restored after attacks, budgets from 5 to 10 %",
    question="The same for every budget between 5 and 10 %: does the answer hang on the budget?",
    paper="Figure 6",
    cases=("case118_ieee",),
    work=measure_fine,
)
