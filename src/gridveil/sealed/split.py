"""`seal`: a case becomes a public half that anyone may see and a secret half that only mechanisms open."""

from __future__ import annotations

from typing import NoReturn

from gridveil.casefile import Case
from gridveil.casefile.labels import Labels, labels
from gridveil.casefile.to_network import to_network
from gridveil.errors import WallBreach
from gridveil.grid import Grid, LineKind, LineParameters, Network


class SecretLines:
    """True line parameters behind a door: no repr, no pickle, no iteration, no comparison shows a value."""

    __slots__ = ("__lines",)

    def __init__(self, lines: LineParameters) -> None:
        self.__lines = lines

    def _open(self) -> LineParameters:
        """For `sealed/` and for studies that compare with the truth; nothing else calls this."""
        return self.__lines

    def __repr__(self) -> str:
        return f"SecretLines({len(self.__lines.g)} lines)"

    def _refuse(self, *_: object) -> NoReturn:
        raise WallBreach("secret lines cannot be copied, pickled, iterated or compared")

    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse
    __iter__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __array__ = _refuse
    __hash__ = object.__hash__


class SecretNetwork:
    """A sealed network: its public grid, its secret lines, names and ids of its elements if it has any, and its own."""

    def __init__(self, grid: Grid, lines: SecretLines, labels: Labels | None = None, name: str = "") -> None:
        self.grid = grid
        self.lines = lines
        self.labels = labels or Labels()
        self.name = name

    def _open(self) -> Network:
        """For `sealed/` and for studies that compare with the truth; nothing else calls this."""
        return Network(self.grid, self.lines._open())

    def __repr__(self) -> str:
        lossless = int((self.grid.lines.kind == LineKind.LOSSLESS).sum())
        return f"SecretNetwork({self.grid.n_bus} buses, {self.grid.n_line} lines, {lossless} of them lossless)"


def split(case: Case | Network) -> SecretNetwork:
    """Seal a case."""
    network = case if isinstance(case, Network) else to_network(case)
    if not isinstance(case, Case):
        return SecretNetwork(network.grid, SecretLines(network.lines))
    return SecretNetwork(network.grid, SecretLines(network.lines), labels(case, live=True), case.name)
