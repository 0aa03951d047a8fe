"""The interactive map as a thing of its own: shown by a notebook, or saved as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.errors import ReportError
from gridveil.formats.find import load
from gridveil.grid import Network, OperatingPoint
from gridveil.publish.release import Release
from gridveil.report.maps.coordinates import read_coordinates
from gridveil.report.maps.html import map_html
from gridveil.report.page import check_file, save


@dataclass(frozen=True)
class InteractiveMap:
    """A map to zoom, search and select in; a notebook shows it.

    Attributes:
        html: One element that needs nothing else.
        buses: How many it has.

    Examples:
        >>> gv.interactive_map("case14_ieee")
        InteractiveMap(14 buses)
    """

    html: str
    buses: int

    def __repr__(self) -> str:
        return f"InteractiveMap({self.buses:,} buses)"

    def _repr_html_(self) -> str:
        return self.html

    def save(self, target: Path | str, *, force: bool = False) -> Path:
        """Write it as a page of its own."""
        path = Path(target)
        check_file(path, (".html", ".htm"), path / "none", force=force)
        head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Map</title></head><body>'
        save(path, f"{head}\n{self.html}\n</body></html>\n")
        return path


def interactive_map(
    case: str | Path | Network | Release | Any,
    *,
    point: OperatingPoint | None = None,
    original: str | Path | Network | Any | None = None,
    coordinates: Path | str | None = None,
) -> InteractiveMap:
    """Draw a network to zoom, search by bus and select in, coloured by voltage level, loading or change.

    A map of a true network shows its numbers, and one with an `original` compares with it: INTERNAL both.

    Args:
        case: A file, a shipped case's name, a network, or a release, which has its operating point.
        point: An operating point, to colour lines by how loaded they are.
        original: What it was made from, to colour lines by how they changed.
        coordinates: A CSV file `bus,x,y` that says where buses stand; else places are made from the topology.

    Returns:
        The map: a notebook shows it, `save` writes it as a page.

    Raises:
        ReportError: The file of coordinates lacks a bus, or is no such file.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> gv.interactive_map(made, original="case14_ieee")
        InteractiveMap(14 buses)
    """
    if isinstance(case, Release):
        network, point = case.network, point or case.point
    else:
        network = load(case)
    truth = None if original is None else load(original)
    if truth is not None and (truth.grid.n_bus, truth.grid.n_line) != (network.grid.n_bus, network.grid.n_line):
        raise ReportError(
            "the two networks do not have the same buses and lines in service; is this the right original?"
        )
    places = None if coordinates is None else read_coordinates(coordinates, network.grid)
    return InteractiveMap(map_html(network, point=point, original=truth, coordinates=places), network.grid.n_bus)
