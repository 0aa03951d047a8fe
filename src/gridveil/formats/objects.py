"""Networks of other libraries in memory -> case, and a case -> networks of theirs.

An object is known by the module and name of its class, so that no library is loaded to look at it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile.case import Case
from gridveil.casefile.from_network import from_network
from gridveil.casefile.read import USER_TERMS
from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats import pandapower_net, pandapower_read, powsybl, pypsa_read
from gridveil.formats.checked import checked
from gridveil.formats.frames import frame_rows
from gridveil.formats.imported import Identity, Imported, numbered
from gridveil.formats.live import joined, live
from gridveil.formats.matfile import refuse_dclines
from gridveil.formats.pandapower import write as pandapower_json
from gridveil.formats.pypsa_net import SERIES, STATE, TABLES, add_series, from_tables
from gridveil.formats.pypsa_read import BASE
from gridveil.formats.pypsa_write import angles, net_tables
from gridveil.grid import Network
from gridveil.grid.physics import operating_point
from gridveil.libraries import needed

_CLASSES = {
    ("pandapower", "pandapowerNet"): "pandapower",
    ("pypsa", "Network"): "pypsa",
    ("pypowsybl", "Network"): "pypowsybl",
}
_COMPONENTS = {
    "buses": "Bus", "loads": "Load", "shunt_impedances": "ShuntImpedance", "generators": "Generator", "lines": "Line",
    "transformers": "Transformer",
}  # fmt: skip


def kind(thing: object) -> str | None:
    """Whose network an object is: pandapower, pypsa, pypowsybl, pypower, or nobody's."""
    for one in type(thing).__mro__:
        found = _CLASSES.get((one.__module__.split(".")[0], one.__name__))
        if found:
            return found
    return "pypower" if isinstance(thing, dict) and {"baseMVA", "bus", "gen", "branch"} <= set(thing) else None


def from_object(thing: Any) -> Imported:
    """The case of a pandapower net, a PyPSA network, a pypowsybl network or a PYPOWER dict."""
    found = kind(thing)
    path = Path(f"<{found} network>")
    if found == "pandapower":
        return pandapower_read.imported(pandapower_net.from_net(path, thing))
    if found == "pypsa":
        return _from_pypsa(path, thing)
    if found == "pypowsybl":
        return powsybl.imported(thing, path)
    if found == "pypower":
        return _from_pypower(path, thing)
    raise GridVeilError(
        f"an object of type '{type(thing).__name__}' is no network that is known; give a path, a pandapower net, "
        "a PyPSA network, a pypowsybl network or a PYPOWER dict"
    )


def _from_pypsa(path: Path, network: Any) -> Imported:
    tables = {
        table: {str(name): row for name, row in frame_rows(getattr(network, table)).items()}
        for table in TABLES
        if hasattr(network, table)
    }
    for table, columns in [*SERIES.items(), ("buses", (STATE,))]:
        for column in columns:
            frame = getattr(network, f"{table}_t")[column]
            if frame.shape[1] and (column != STATE or len(frame) == 1):
                rows = list(frame_rows(frame).values())
                names = [str(name) for name in frame.columns]
                values = [rows[0][name] for name in names] if len(rows) == 1 else []
                add_series(path, tables[table], column, names, len(rows), values)
    return pypsa_read.imported(from_tables(path, tables, dict(network.meta), str(network.name)))


def _from_pypower(path: Path, ppc: dict[str, Any]) -> Imported:
    def table(name: str) -> FloatArray:
        try:
            found = np.asarray(ppc[name], dtype=np.float64)
        except (TypeError, ValueError):
            raise CaseFileError(path, None, f"'{name}' is no table of numbers", "give an array") from None
        if found.ndim != 2:
            raise CaseFileError(path, None, f"'{name}' has not two dimensions", "give rows and columns")
        return found

    try:
        base = float(ppc["baseMVA"])
    except (TypeError, ValueError):
        raise CaseFileError(path, None, "'baseMVA' is not a number", "give it, such as 100") from None
    for name in USER_TERMS:
        if np.size(ppc.get(name, ())):
            problem = f"'{name}' adds terms to the OPF that this model does not have"
            raise CaseFileError(path, None, problem, "delete it if the plain OPF is meant")
    costs = table("gencost") if np.size(ppc.get("gencost", ())) else np.zeros((0, 0))
    if np.size(ppc.get("dcline", ())):
        refuse_dclines(path, table("dcline"))
    case = Case("network", base, table("bus"), table("gen"), table("branch"), costs)
    ends = [one[:, :count] for one, count in ((case.branch, 2), (case.gen, 1)) if len(one)]
    whole = all(np.all(np.isfinite(one)) and np.all(np.abs(one) < 2**53) for one in ends)
    identity = numbered(case) if whole else Identity(("",) * len(case.branch), ("",) * len(case.gen))
    return Imported(checked(path, case, identity), identity)


def case_of(network: Network) -> Case:
    """A case of a network that has no operating point: voltages at 1 or the nearest that is allowed, and no power."""
    buses, made = network.grid.buses, network.grid.generators
    nothing = np.zeros(len(made.bus))
    pg, qg = np.clip(nothing, made.pmin, made.pmax), np.clip(nothing, made.qmin, made.qmax)
    flat = operating_point(*network, np.clip(np.ones(len(buses.vmin)), buses.vmin, buses.vmax), 0 * buses.vmin, pg, qg)
    return from_network("network", *network, flat)


def to_pypower(case: Case, identity: Identity | None = None) -> dict[str, Any]:
    """A PYPOWER dict; it needs no library."""
    shown = live(case, identity or numbered(case))
    found: dict[str, Any] = {"version": "2", "baseMVA": shown.base_mva, "bus": shown.bus.copy(), "gen": shown.gen}
    found["branch"] = shown.branch
    blocks = [one for one in (shown.cost_p, shown.cost_q) if one is not None]
    return found | ({"gencost": joined(blocks)} if blocks else {})


def to_pandapower(case: Case, identity: Identity | None = None) -> Any:
    """A pandapower net."""
    library = needed("pandapower", "formats")
    return library.from_json_string(pandapower_json(case, identity or numbered(case)).decode(), convert=True)


def to_pypsa(case: Case, identity: Identity | None = None) -> Any:
    """A PyPSA network."""
    network = needed("pypsa", "formats").Network(name="network")
    network.meta = {BASE: case.base_mva}
    for table, rows in net_tables(case, identity or numbered(case)).items():
        if rows:
            columns = {key: [row[key] for row in rows.values()] for key in next(iter(rows.values()))}
            own = {key: columns.pop(key) for key in ("q_min", "q_max") if key in columns}
            network.add(_COMPONENTS[table], list(rows), **columns)
            for key, values in own.items():
                getattr(network, table)[key] = values
    solved = angles(case, identity or numbered(case))
    state = network.buses_t[STATE].reindex(columns=list(solved))
    state.loc[:, :] = [list(solved.values())]
    network.buses_t[STATE] = state
    return network
