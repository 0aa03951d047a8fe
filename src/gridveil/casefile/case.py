"""`Case`: the tables of a MATPOWER version-2 file, in file units, in file order, nothing interpreted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from gridveil.arrays import FloatArray, frozen

Cell: TypeAlias = tuple[tuple[str | float, ...], ...]
"""A MATLAB cell array of strings and numbers, row by row."""

Extra: TypeAlias = FloatArray | Cell | str
"""A field of the file that the model does not use but the writer keeps: `areas`, `bus_name`, ..."""


@dataclass(frozen=True, eq=False)
class Case:
    """One case file as data: the tables of a MATPOWER version-2 file, in its units and order, nothing interpreted.

    Attributes:
        name: Of the case.
        base_mva: What 1 per unit is.
        bus: The table of buses; the numbers of columns are in `casefile.columns`.
        gen: Of generators.
        branch: Of lines and transformers.
        gencost: Of costs.
        extras: Fields that are kept and not used, such as `bus_name`.
        source: The file it came from.

    Examples:
        >>> gv.read_case("case14_ieee")
        Case('case14_ieee': 14 bus, 5 gen, 20 branch rows)
    """

    name: str
    base_mva: float
    bus: FloatArray
    gen: FloatArray
    branch: FloatArray
    gencost: FloatArray
    extras: Mapping[str, Extra] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        for table in ("bus", "gen", "branch", "gencost"):
            object.__setattr__(self, table, frozen(getattr(self, table)))
        object.__setattr__(self, "extras", MappingProxyType(dict(self.extras)))

    def __repr__(self) -> str:
        return f"Case({self.name!r}: {len(self.bus)} bus, {len(self.gen)} gen, {len(self.branch)} branch rows)"
