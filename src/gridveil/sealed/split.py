"""`split`: a case becomes its structure, which anyone may see, and numbers behind a door that mechanisms open."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from gridveil.casefile import Case
from gridveil.casefile.labels import Labels, labels
from gridveil.casefile.to_network import to_network
from gridveil.errors import WallBreach
from gridveil.grid import Grid, Network, Structure, structure_of
from gridveil.shown import as_card
from gridveil.wall.protection import GROUP_WORDS, Group, Protection


class Sealed:
    """A network that can be released and not be seen, by `gv.seal`.

    No number of any group is an attribute, and no repr, copy, pickle, iteration or comparison shows one.

    Attributes:
        structure: What is public of it under every plan.
        labels: Names and ids of its elements.
        name: Its own.

    Examples:
        >>> gv.seal("case14_ieee").structure
        Structure(14 buses, 5 generators, 20 lines)
    """

    __slots__ = ("__numbers", "labels", "name", "structure")

    _repr_html_ = as_card

    def __init__(self, network: Network, labels: Labels | None = None, name: str = "") -> None:
        self.structure: Structure = structure_of(network.grid)
        self.labels = labels or Labels()
        self.name = name
        self.__numbers: Callable[[], Network] = lambda: network  # which no walk over attributes finds

    def _open(self) -> Network:
        """For `sealed/`, and for studies and internal checks that compare with the truth; nothing else calls this."""
        return self.__numbers()

    def public_grid(self, protection: Protection) -> Grid:
        """The grid, under a plan that leaves all of it public; refused if any group of its numbers is protected."""
        secret = [GROUP_WORDS[group] for group in protection.groups if group is not Group.LINES]
        if secret:
            raise WallBreach(f"the grid is not public where {', '.join(secret)} are protected; ask for the structure")
        return self.__numbers().grid

    def __repr__(self) -> str:
        known = self.structure
        return f"Sealed({known.n_bus} buses, {known.n_line} lines, {known.n_lossless} of them lossless)"

    def _refuse(self, *_: object) -> NoReturn:
        raise WallBreach("a sealed network cannot be copied, pickled, iterated or compared")

    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = __replace__ = _refuse
    __iter__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __array__ = _refuse
    __hash__ = object.__hash__


def split(case: Case | Network) -> Sealed:
    """Seal a case."""
    if isinstance(case, Network):
        return Sealed(case)
    return Sealed(to_network(case), labels(case, live=True), case.name)
