"""A case by its file, of any format, or by the name under which it is shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridveil import cases
from gridveil.casefile.case import Case
from gridveil.casefile.labels import Labels, labelled
from gridveil.casefile.to_network import to_network
from gridveil.formats.imported import Imported
from gridveil.formats.read import read_any
from gridveil.grid import Network


def read_case(case: str | Path) -> Case:
    """Read a case file of any format, or a shipped case by its name.

    Args:
        case: A file (.m, .mat, .raw, .rawx, .json, a PyPSA folder, ...) or a name of `gridveil cases`.

    Returns:
        Its tables, as MATPOWER has them.

    Raises:
        CaseFileError: It cannot be read as a network; the error says where and what to do.

    Examples:
        >>> gv.read_case("case39_epri").base_mva
        100.0
    """
    return named_case(import_case(case))


def named_case(found: Imported) -> Case:
    """The case with names and ids in its fields, as a `.m` file has them."""
    if found.case.source.lower().endswith(".m"):
        return found.case
    identity = found.identity
    return labelled(found.case, Labels(identity.bus_names, identity.circuit, identity.machine))


def import_case(
    case: str | Path,
    form: str | None = None,
    costs: Path | str | None = None,
    limits: Path | str | None = None,
    missing_cost: float | None = None,
) -> Imported:
    """The same with its identity, and with costs and limits lent to it; a file goes before a shipped case."""
    shipped = cases.path(str(case))
    try:
        here = shipped is None or Path(case).exists()
    except OSError:  # the reader will say why it cannot be looked at
        here = True
    return read_any(case if here or shipped is None else shipped, form, costs, limits, missing_cost)


def load(case: Any) -> Network:
    """Load a network from whatever form it has.

    Args:
        case: A file of any format, a shipped case's name, a `Case`, a `Network`; or a pandapower net, a PyPSA or
            pypowsybl network or a PYPOWER dict.

    Returns:
        The network in per unit.

    Raises:
        CaseFileError: It cannot be read as a network; the error says where and what to do.

    Examples:
        >>> gv.load("case39_epri")
        Network(39 buses, 10 generators, 46 lines)
    """
    if isinstance(case, Network):
        return case
    if isinstance(case, str | Path):
        case = read_case(case)
    if not isinstance(case, Case):
        from gridveil.formats.objects import from_object

        case = from_object(case).case
    return to_network(case)
