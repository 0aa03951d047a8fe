"""The network on the desk: read once for as long as its file is the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock

import numpy as np

from gridveil import cases
from gridveil.casefile import Case
from gridveil.casefile.quirks import Quirk, quirks
from gridveil.casefile.to_network import to_network
from gridveil.errors import ReleaseError
from gridveil.formats.find import named_case
from gridveil.formats.imported import Imported
from gridveil.formats.lend import NO_COSTS
from gridveil.formats.read import read_any
from gridveil.grid import Network, islands, line_levels_kv
from gridveil.report.maps.small_map import FULL, small_map
from gridveil.sealed.split import Sealed, split
from gridveil.web.files import Folder


@dataclass(frozen=True, eq=False)
class Opened:
    """A network that was read, by its path within the folder or its name among the shipped ones. INTERNAL."""

    name: str
    path: Path
    digest: str
    imported: Imported
    case: Case
    sealed: Sealed

    @property
    def title(self) -> str:
        """What its owner calls it, and types to confirm."""
        return self.sealed.name or Path(self.name).stem

    @property
    def shipped(self) -> bool:
        return cases.path(self.name) is not None and self.path == cases.path(self.name)

    @cached_property
    def network(self) -> Network:
        return to_network(self.case)

    @cached_property
    def quirks(self) -> list[Quirk]:
        return list(quirks(self.case))

    @cached_property
    def map(self) -> str:
        """An SVG without a number."""
        grid = self.network.grid
        return small_map(grid.n_bus, grid.lines, np.unique(grid.generators.bus))

    @property
    def map_words(self) -> str:
        """What is seen on it: of a large network, dots are areas."""
        where = "placed by what is joined to what, not by where they stand. Blue: with generating units."
        if self.network.grid.n_bus <= FULL:
            return f"Dots are buses, {where}"
        return f"Dots are {FULL} groups of neighbouring buses, larger where there are more of them, {where}"

    @cached_property
    def counts(self) -> dict[str, str]:
        """How much there is of what."""
        grid = self.network.grid
        levels = np.unique(line_levels_kv(grid))
        return {
            "buses": f"{grid.n_bus:,}",
            "lines and transformers": f"{grid.n_line:,}",
            "generating units": f"{grid.n_generator:,}",
            "islands": f"{int(islands(grid).max()) + 1 if grid.n_bus else 0:,}",
            "demand": f"{grid.buses.pd.sum() * grid.base_mva:,.0f} MW",
            "capacity": f"{grid.generators.pmax.sum() * grid.base_mva:,.0f} MW",
            "voltage levels": ", ".join(f"{one:g}" for one in levels.tolist()) + " kV",
        }

    def require_costs(self) -> None:
        """A release promises a cost."""
        if NO_COSTS in self.imported.losses:
            raise ReleaseError(
                "no unit of this network has a cost, and a release promises one; release it on the command line, "
                "where --costs FILE lends it costs"
            )


class Reader:
    """Reads networks, and keeps the last two: the one on the desk, and the one of which a result is shown."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self._lock = folder, Lock()
        self._kept = dict[tuple[str, int, int], Opened]()

    def read(self, name: str) -> Opened:
        """The network of a path within the folder, or a shipped one; a file goes before a shipped case."""
        shipped, here = cases.path(name), self.folder.root / name
        with self._lock:
            path = shipped if shipped is not None and not here.exists() else self.folder.within(here)
            if not path.is_file():
                raise ReleaseError("that is no file; a network in a folder has to be converted to one file first")
            seen = path.stat()
            stamp = name, seen.st_mtime_ns, seen.st_size
            if stamp not in self._kept:
                opened = self._read(name, path)
                self._kept = dict([*self._kept.items()][-1:])
                self._kept[stamp] = opened
            return self._kept[stamp]

    def _read(self, name: str, path: Path) -> Opened:
        found = read_any(path)
        case = named_case(found)
        return Opened(name, path, sha256(path.read_bytes()).hexdigest(), found, case, split(case))
