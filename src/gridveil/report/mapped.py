"""Which studies have maps: those whose rows are lines, before and after."""

from __future__ import annotations

from gridveil.charts.results import Results
from gridveil.report.maps.change_map import ChangeMap, change_maps
from gridveil.study.catalogue import STUDIES
from gridveil.study.sections import made_of

LINES = {"bus_from", "bus_to", "r", "x", "released_r", "released_x"}


def maps_of(name: str, results: Results) -> tuple[ChangeMap, ...]:
    """A map per case of how the impedance of every line changed, if the study has lines."""
    if not results.rows or not set(STUDIES[name].columns) >= LINES:
        return ()
    return made_of(name, results, change_maps)
