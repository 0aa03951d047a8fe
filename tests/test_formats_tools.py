"""The tools themselves load what is written, and their power flow of a release is ours; skipped where they are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.casefile.read import read_bytes
from gridveil.casefile.write import write
from gridveil.errors import CaseFileError
from gridveil.formats import egret, matfile, objects, pandapower, pypsa, pypsa_netcdf, xml_files
from gridveil.formats.imported import Imported, numbered
from gridveil.formats.live import live
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

from .same import differences, with_charging_in_shunts

pytestmark = pytest.mark.filterwarnings("ignore")  # of the tools' own

SMALL = ["case14", "case39_epri"]
LARGER = pytest.param("case118_ieee", marks=pytest.mark.sweep)


def tool(name: str) -> Any:
    pytest.importorskip(name, reason=f"{name} is not installed")
    return import_module(name)


@cache
def released(name: str) -> Case:
    made = release(split(gv.load(name)), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(1), workshop=Workshop)
    return read_bytes("released.m", made.text.encode())


def voltages(case: Case) -> dict[int, complex]:
    return {int(row[0]): row[c.VM] * np.exp(1j * np.deg2rad(row[c.VA])) for row in case.bus.tolist()}


def away(case: Case, found: dict[int, complex]) -> float:
    """The largest distance of two states in per unit."""
    return max(abs(value - found[bus]) for bus, value in voltages(case).items())


def flow(read: Imported, start: Callable[[str], tuple[float, float] | None], slack: set[str]) -> dict[str, complex]:
    """PYPOWER's power flow of what was read, by the names of buses, from near a state that somebody else has found."""
    api = tool("pypower.api")
    shown = live(read.case, read.identity)
    names = shown.bus_names or tuple(str(int(number)) for number in shown.bus[:, 0])
    bus, gen, known = shown.bus.copy(), shown.gen.copy(), dict[float, tuple[float, float]]()
    for row, name in zip(bus, names, strict=True):
        if (state := start(name)) is not None:
            known[row[0]] = state
            row[[c.VM, c.VA]] = state[0], state[1]
        row[c.BUS_TYPE] = c.REFERENCE_BUS if name in slack else min(row[c.BUS_TYPE], c.PV_BUS if slack else 3)
    for ends in shown.branch.tolist():  # star and boundary buses, which others do not know
        for near, far, sign in ((c.FROM, c.TO, -1), (c.TO, c.FROM, 1)):
            if ends[near] in known and ends[far] not in known:
                bus[bus[:, 0] == ends[far], c.VM : c.VA + 1] = 1.0, known[ends[near]][1] + sign * ends[c.SHIFT]
    for row in gen:
        row[c.VG] = known[row[0]][0]
    options = api.ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-10, PF_MAX_IT=30)
    found, good = api.runpf(
        {"version": "2", "baseMVA": shown.base_mva, "bus": bus, "gen": gen, "branch": shown.branch}, options
    )
    assert good
    return {
        name: row[c.VM] * np.exp(1j * np.deg2rad(row[c.VA]))
        for name, row in zip(names, found["bus"].tolist(), strict=True)
    }


# ---- the tools load it ----


@pytest.mark.parametrize("name", [*SMALL, LARGER])
def test_pandapower_flows_as_we_do(name: str) -> None:
    library, case = tool("pandapower"), released(name)
    net = library.from_json_string(pandapower.write(case, numbered(case)).decode(), convert=True)
    library.runpp(net, calculate_voltage_angles=True, tolerance_mva=1e-9, init="dc", numba=False)
    state = net.res_bus.vm_pu * np.exp(1j * np.deg2rad(net.res_bus.va_degree))
    assert away(case, {int(bus): value for bus, value in state.items()}) < 1e-9


@pytest.mark.parametrize("name", [*SMALL, LARGER])
@pytest.mark.parametrize("form", ["folder", "netcdf"])
def test_pypsa_flows_as_we_do(name: str, form: str, tmp_path: Path) -> None:
    library, case = tool("pypsa"), released(name)
    place = tmp_path / ("x.nc" if form == "netcdf" else "x")
    if form == "netcdf":
        place.write_bytes(pypsa_netcdf.write(case, numbered(case)))
    else:
        place.mkdir()
        for file, content in pypsa.write(case, numbered(case)).items():
            (place / file).write_bytes(content)
    network = library.Network(str(place))
    assert bool(network.pf(x_tol=1e-10).converged.iloc[0, 0])
    state = network.buses_t.v_mag_pu.iloc[0] * np.exp(1j * network.buses_t.v_ang.iloc[0])
    turned = np.exp(1j * np.deg2rad(case.bus[case.bus[:, c.BUS_TYPE] == c.REFERENCE_BUS, c.VA][0]))
    assert away(case, {int(bus): value * turned for bus, value in state.items()}) < 1e-9
    for table in ("q_min", "q_max"):  # which it keeps, and would not use
        assert table in network.generators


def test_pypsa_takes_a_pypower_dict() -> None:
    """Its own importer, which wants 21 columns of generators."""
    library, case = tool("pypsa"), released("case39_epri")
    network = library.Network()
    network.import_from_pypower_ppc(objects.to_pypower(case), overwrite_zero_s_nom=1e6)
    assert (len(network.buses), len(network.generators)) == (39, 10)
    assert len(network.lines) + len(network.transformers) == 46
    assert bool(network.pf(x_tol=1e-10).converged.iloc[0, 0])
    size = network.buses_t.v_mag_pu.iloc[0]
    assert max(abs(size[str(bus)] - abs(value)) for bus, value in voltages(case).items()) < 1e-9


@pytest.mark.parametrize("name", [*SMALL, LARGER])
def test_pypower_dispatches_as_we_do(name: str) -> None:
    api, case = tool("pypower.api"), released(name)
    tight = dict.fromkeys(("PDIPM_GRADTOL", "PDIPM_COMPTOL", "PDIPM_COSTTOL", "PDIPM_FEASTOL"), 1e-09)
    found = api.runopf(objects.to_pypower(case), api.ppoption(VERBOSE=0, OUT_ALL=0, **tight))
    assert found["success"] and found["f"] == pytest.approx(gv.solve_opf(case).require().cost, rel=1e-6)


@pytest.mark.parametrize("name", [*SMALL, LARGER])
def test_pypowsybl_flows_as_we_do(name: str, tmp_path: Path) -> None:
    """Of the `.mat` file. It has all of a transformer's charging at one end, so that is brought to shunts before: two
    transformers of case118 have some, and its voltages differ by 1.6e-3 without."""
    case = with_charging_in_shunts(released(name))
    tool("pypowsybl")
    (tmp_path / "x.mat").write_bytes(matfile.write(case, numbered(case)))
    network = import_module("pypowsybl.network").load(str(tmp_path / "x.mat"))
    loadflow = import_module("pypowsybl.loadflow")
    parameters = _parameters(loadflow)
    assert str(loadflow.run_ac(network, parameters)[0].status).endswith("CONVERGED")
    buses, levels = network.get_bus_breaker_view_buses(), network.get_voltage_levels().nominal_v
    size = {int(key.split("-")[1]): row.v_mag / levels[row.voltage_level_id] for key, row in buses.iterrows()}
    assert max(abs(size[bus] - abs(value)) for bus, value in voltages(case).items()) < 1e-6


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*SMALL, "case118_ieee"])
def test_andes_flows_as_we_do(name: str, tmp_path: Path) -> None:
    library, case = tool("andes"), released(name)
    write(case, tmp_path / "released.m")
    system = library.load(str(tmp_path / "released.m"), no_output=True, default_config=True)
    assert system.PFlow.run()
    size = dict(zip(system.Bus.idx.v, system.Bus.v.v, strict=True))
    assert max(abs(size[bus] - abs(value)) for bus, value in voltages(case).items()) < 1e-6


def test_egret_has_what_its_own_parser_has(tmp_path: Path) -> None:
    """Fields that both have are equal; it parses `.m` too."""
    pytest.importorskip("egret", reason="egret is not installed")
    case = released("case39_epri")
    write(case, tmp_path / "released.m")
    (tmp_path / "x.json").write_bytes(egret.write(case, numbered(case)))
    theirs = import_module("egret.parsers.matpower_parser").create_ModelData(str(tmp_path / "released.m")).data
    ours = import_module("egret.data.model_data").ModelData.read(str(tmp_path / "x.json")).data
    compared = 0
    for table, rows in theirs["elements"].items():
        assert list(rows) == list(ours["elements"][table])
        for key, row in rows.items():
            both = set(row) & set(ours["elements"][table][key]) - {"p_cost"}
            assert {field: row[field] for field in both} == {
                field: ours["elements"][table][key][field] for field in both
            }
            compared += len(both)
    assert compared > 1000 and ours["system"]["reference_bus"] == theirs["system"]["reference_bus"]


# ---- what the tools have is read ----

NETWORKS = [
    "case9", "case24_ieee_rts", "case30", "case39", "example_simple", "example_multivoltage", "simple_four_bus_system",
    "create_cigre_network_mv", "create_cigre_network_lv",
]  # fmt: skip
MORE = ["case118", "case300", "case1888rte", "mv_oberrhein", "GBreducednetwork", "iceland", "create_kerber_dorfnetz"]


@pytest.mark.parametrize("name", [*NETWORKS, *(pytest.param(one, marks=pytest.mark.sweep) for one in MORE)])
def test_networks_of_pandapower(name: str) -> None:
    """Tap changers, magnetising branches, open switches, merged buses, wards, impedances, three windings: our reading
    has pandapower's own voltages."""
    library = tool("pandapower")
    made = getattr(import_module("pandapower.networks"), name)()
    net = made[0] if isinstance(made, tuple) else made
    for table in ("xward", "dcline", "motor", "storage", "asymmetric_load"):
        net[table]["in_service"] = False
    read = pandapower.read(Path(name), library.to_json(net).encode())
    same = objects.from_object(net)
    assert np.allclose(same.case.branch, read.case.branch, rtol=1e-9, atol=1e-12) and same.identity == read.identity
    library.runpp(net, calculate_voltage_angles=True, tolerance_mva=1e-9, init="dc", numba=False, max_iteration=50)
    first = 1 if 0 in net.bus.index else 0
    states = {
        index + first: (row.vm_pu, row.va_degree) for index, row in net.res_bus.iterrows() if not np.isnan(row.vm_pu)
    }
    nameless = Imported(read.case, type(read.identity)(read.identity.circuit, read.identity.machine))
    found = flow(nameless, lambda bus: states.get(int(bus)), set())
    inside = [bus for bus in states if str(bus) in found]
    assert len(inside) > 3
    for bus in inside:
        vm, va = states[bus]
        assert abs(found[str(bus)] - vm * np.exp(1j * np.deg2rad(va))) < 1e-8


def _parameters(loadflow: Any) -> Any:
    return loadflow.Parameters(
        distributed_slack=False, use_reactive_limits=False, transformer_voltage_control_on=False,
        shunt_compensator_voltage_control_on=False, phase_shifter_regulation_on=False,
        voltage_init_mode=loadflow.VoltageInitMode.DC_VALUES,
        provider_parameters={"newtonRaphsonConvEpsPerEq": "1e-10", "slackBusSelectionMode": "LARGEST_GENERATOR"},
    )  # fmt: skip


def _without_dc(network: Any) -> Any:
    """A network of pypowsybl without what this model has none of."""
    for table in ("hvdc_lines", "vsc_converter_stations", "lcc_converter_stations", "static_var_compensators"):
        network.remove_elements(list(getattr(network, f"get_{table}")().index))
    return network


def _by_names(found: Imported) -> tuple[dict[str, list[float]], dict[str, tuple[str, str, list[float]]]]:
    """Buses by their names and branches by their ids, with the names of their ends."""
    case, identity = found.case, found.identity
    assert identity.bus_names is not None
    names = dict(zip(case.bus[:, 0].tolist(), identity.bus_names, strict=True))
    buses = {names[row[0]]: row[1:] for row in case.bus.tolist()}
    rows = zip(identity.circuit, case.branch.tolist(), strict=True)
    branches = {circuit: (names[row[0]], names[row[1]], row[2:]) for circuit, row in rows}
    assert (len(buses), len(branches)) == (len(case.bus), len(case.branch))
    return buses, branches


@pytest.mark.parametrize(
    "name",
    [
        "ieee14", "ieee30", "ieee300", "eurostag_tutorial_example1_network", "micro_grid_be_network",
        "micro_grid_nl_network", "eurostag_tutorial_example1_with_tie_lines_and_areas",
        "four_substations_node_breaker_network",
    ],
)  # fmt: skip
def test_networks_of_pypowsybl(name: str) -> None:
    """Node-breaker topology, three windings as a star, boundary lines, phase shifters: our reading has its voltages."""
    tool("pypowsybl")
    networks, loadflow = import_module("pypowsybl.network"), import_module("pypowsybl.loadflow")
    network = _without_dc(getattr(networks, f"create_{name}")())
    read = xml_files.read(Path("x.xiidm"), network.save_to_binary_buffer(format="XIIDM").getvalue())
    same = objects.from_object(network)
    assert _by_names(same) == _by_names(read)  # whose rows stand in pypowsybl's order, another after each reading
    done = loadflow.run_ac(network, _parameters(loadflow))[0]
    levels, buses = network.get_voltage_levels().nominal_v, network.get_buses(all_attributes=True)
    states = {
        key: (row.v_mag / levels[row.voltage_level_id], row.v_angle) for key, row in buses.iterrows() if row.v_mag > 0
    }
    found = flow(_largest_island(read, set(states)), states.get, {done.slack_bus_results[0].id})
    for key, (vm, va) in states.items():
        assert abs(found[key] - vm * np.exp(1j * np.deg2rad(va))) < 1e-8


def _largest_island(read: Imported, wanted: set[str]) -> Imported:
    """Without buses that a power flow leaves out: those beyond open ends."""
    names = read.identity.bus_names or ()
    lonely = [name not in wanted and "_" in name and "of" not in name for name in names]
    if not any(lonely):
        return read
    bus = read.case.bus.copy()
    bus[lonely, c.BUS_TYPE] = c.ISOLATED_BUS
    return Imported(
        Case("x", read.case.base_mva, bus, read.case.gen, read.case.branch, read.case.gencost), read.identity
    )


def test_cgmes_through_pypowsybl() -> None:
    """An archive of CGMES files gives the branches of the network it was made of; amperes become MVA with √3."""
    tool("pypowsybl")
    network = import_module("pypowsybl.network").create_eurostag_tutorial_example1_network()
    data = network.save_to_binary_buffer(format="CGMES").getvalue()
    one, two = xml_files.read(Path("x.zip"), data).case, objects.from_object(network).case
    assert len(one.bus) == 4 and one.gencost.size == 0
    columns = [c.R, c.X, c.B, c.RATIO]
    assert np.sort(one.branch[:, columns], axis=0) == pytest.approx(np.sort(two.branch[:, columns], axis=0), rel=1e-6)
    limits = network.get_operational_limits().reset_index()
    assert set(limits[limits.acceptable_duration == -1].value) == {500.0, 1100.0}  # a line has one at each end
    for case in (one, two):
        assert case.branch[case.branch[:, c.RATE_A] > 0, c.RATE_A] == pytest.approx([500 * 380 * 3**0.5 / 1000] * 2)


def test_hvdc_and_compensators_are_refused() -> None:
    tool("pypowsybl")
    network = import_module("pypowsybl.network").create_four_substations_node_breaker_network()
    with pytest.raises(CaseFileError, match="hvdc_lines 1: it is connected"):
        objects.from_object(network)
    network.remove_elements(list(network.get_hvdc_lines().index))
    with pytest.raises(CaseFileError, match="static_var_compensators 1"):
        objects.from_object(network)
    with pytest.raises(CaseFileError, match="cannot read this as XIIDM"):
        xml_files.read(Path("x.xiidm"), b"<network/>")


@pytest.mark.parametrize("name", ["pandapower", "pypsa", "pypower"])
def test_objects_there_and_back(name: str) -> None:
    if name != "pypower":
        tool(name)
    case = released("case14")
    thing = getattr(objects, f"to_{name}")(case)
    assert objects.kind(thing) == name
    leave = ("angmin", "angmax") if name == "pandapower" else ()
    wanted = with_charging_in_shunts(case) if name == "pandapower" else case
    assert differences(wanted, numbered(case), objects.from_object(thing), leave) == {}


def test_what_pypsa_writes_is_read(tmp_path: Path) -> None:
    tool("pypsa")
    case = released("case14")
    network = objects.to_pypsa(case)
    network.export_to_csv_folder(str(tmp_path / "x"))
    network.export_to_netcdf(str(tmp_path / "x.nc"))
    files = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    for read in (pypsa.read(tmp_path, files), pypsa_netcdf.read(tmp_path, (tmp_path / "x.nc").read_bytes())):
        assert differences(case, numbered(case), read) == {}
