"""One test per refusal of a reader: which file or record, what is wrong, and what to do; nothing half-read."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile.read import read_bytes
from gridveil.errors import CaseFileError
from gridveil.formats import egret, matfile, pandapower, powermodels, pypsa, pypsa_netcdf, xml_files
from gridveil.formats.imported import Imported, numbered
from gridveil.formats.mat5 import variables

from .conftest import TINY

CASE = read_bytes("tiny.m", TINY.encode())
IDS = numbered(CASE)
Spoil = Callable[[Any], Any]


def put(*keys: Any) -> Spoil:
    """Set what stands at all keys but the last to the last."""

    def spoil(value: Any) -> None:
        for key in keys[:-2]:
            value = value[key]
        value[keys[-2]] = keys[-1]

    return spoil


def refused(read: Callable[[Path, Any], Imported], data: Any, words: str) -> CaseFileError:
    with pytest.raises(CaseFileError, match=words) as caught:
        read(Path("there/x.json"), data)
    assert caught.value.advice
    return caught.value


# ---- JSON of any kind ----


@pytest.mark.parametrize(
    "read", [powermodels.read, egret.read, pandapower.read], ids=["powermodels", "egret", "pandapower"]
)
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "this is not JSON"),
        (b'{"a": 1', "this is not JSON"),
        (b"[1, 2]", "not one JSON object"),
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b'{"a": ' * 3000 + b"1" + b"}" * 3000, "nests deeper"),
        ('{"name": "Süd"}'.encode("latin-1"), "not UTF-8"),
        ('{"name": "x"}'.encode("utf-16"), "not UTF-8"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
    ],
    ids=["empty", "truncated", "list", "twice", "deep", "latin-1", "utf-16", "digits"],
)  # fmt: skip
def test_json(read: Callable[[Path, Any], Imported], data: bytes, words: str) -> None:
    assert str(refused(read, data, words)).startswith("there/x.json")


# ---- PowerModels ----


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data.pop("per_unit"), "does not say whether it is in per unit"),
        (put("multinetwork", True), "several networks"),
        (put("baseMVA", 0.0), "base|per unit"),
        (put("baseMVA", "100"), "'baseMVA' is not a number"),
        (put("bus", []), "'bus' is not a table of records"),
        (put("bus", "1", 7), "bus 1: it is no record"),
        (put("bus", {}), "it is at a bus that the file does not have"),
        (put("bus", "2", "bus_i", 1), "bus 1: this bus number stands twice"),
        (put("bus", "2", "bus_i", -4), "bus 2: 'bus_i' is not a positive whole number"),
        (put("bus", "2", "bus_type", 7), "bus type is not 1, 2, 3 or 4"),
        (put("bus", "2", "vmax", None), "bus 2: 'vmax' is missing"),
        (put("bus", "2", "vmax", 0.1), "Vmin is above Vmax"),
        (put("load", "1", "load_bus", 9), "load 1: it is at a bus that the file does not have"),
        (put("load", "1", "pd", float("inf")), "load 1: 'pd' is infinite"),
        (put("gen", "1", "pmax", -9.0), "Pmin is above Pmax .generator 1, id 1"),
        (put("gen", "1", "cost", "x"), "gen 1: 'cost' is not a list"),
        (put("gen", "1", "cost", [1.0, "x"]), "gen 1: 'cost' is not a number"),
        (put("gen", "1", "model", 1), "gen 1: its piecewise-linear cost has half a point"),
        (put("gen", "1", "gen_bus", True), "gen 1: 'gen_bus' is not a positive whole number"),
        (put("branch", "1", "br_x", 0.0), None),
        (put("branch", "1", "f_bus", 2), "joins a bus to itself .branch 2-2"),
        (put("branch", "1", "tap", -1.0), "the tap ratio is negative"),
        (put("branch", "1", "transformer", "no"), "branch 1: 'transformer' is neither true nor false"),
        (put("branch", "3", "source_id", ["branch", 1, 2, "1"]), None),
        (put("dcline", {"1": {"br_status": 1}}), "dcline 1: it is in service"),
        (put("storage", {"1": {"status": 1}}), "storage 1: it is in service"),
        (put("switch", {"1": {"status": 1, "state": 0}}), "switch 1: it is in service"),
        (put("dcline", {"1": {"br_status": 0}}), None),
    ],
)  # fmt: skip
def test_powermodels(spoil: Spoil, words: str | None) -> None:
    data = json.loads(powermodels.write(CASE, IDS))
    spoil(data)
    if words is None:
        assert len(powermodels.read(Path("x"), json.dumps(data).encode()).case.branch) == 3
    else:
        refused(powermodels.read, json.dumps(data).encode(), words)


def test_two_units_with_one_id() -> None:
    data = json.loads(powermodels.write(CASE, IDS))
    data["gen"]["2"] |= {"gen_bus": 1, "source_id": ["generator", 1, "1"]}
    refused(powermodels.read, json.dumps(data).encode(), "two units of this bus have one id")


def test_powermodels_in_mixed_units() -> None:
    """Powers in MW and angles in degrees where the file says so; impedances stay in per unit."""
    data = json.loads(powermodels.write(CASE, IDS))
    data["per_unit"] = False
    data["load"]["1"]["pd"] = 90.0
    data["branch"]["1"] |= {"angmin": -30.0, "rate_a": 150.0}
    read = powermodels.read(Path("x"), json.dumps(data).encode()).case
    assert read.bus[1, 2] == 90 and read.branch[0, [3, 5, 11]].tolist() == [0.1, 150, -30]


def test_unequal_charging_goes_to_shunts() -> None:
    """b at one end and conductances are exact in bus shunts, behind the tap at the from end."""
    data = json.loads(powermodels.write(CASE, IDS))
    data["branch"]["2"] |= {"b_fr": 0.05, "g_fr": 0.01, "b_to": 0.02, "g_to": 0.003}
    read = powermodels.read(Path("x"), json.dumps(data).encode())
    square = 0.98**2
    assert read.case.branch[1, 4] == 0.04
    assert read.case.bus[0, [4, 5]] == pytest.approx([1 / square, 3 / square], rel=1e-14)
    assert read.case.bus[2, [4, 5]] == pytest.approx([0.3, 5], rel=1e-14)
    assert "became bus shunts" in read.notes[0]


# ---- EGRET ----


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data.pop("system"), "no 'elements' and 'system'"),
        (put("system", "time_keys", ["1"]), "time series"),
        (put("system", "baseMVA", None), "'baseMVA' is missing"),
        (put("elements", "bus", "2", "matpower_bustype", "hub"), "bus 2: its type is none of"),
        (put("elements", "load", "load_2", "bus", "9"), "load load_2: it is at a bus"),
        (put("elements", "load", "load_2", "p_load", {"data_type": "time_series"}), "load load_2: 'p_load' is not a number"),
        (put("elements", "generator", "1", "p_cost", 5.0), "generator 1: 'p_cost' is no cost curve"),
        (put("elements", "generator", "1", "p_cost", "values", [1]), "neither polynomial nor piecewise"),
        (put("elements", "generator", "1", "p_cost", "values", {"x": 1.0}), "powers that are no whole numbers"),
        (put("elements", "branch", "1", "in_service", "yes"), "branch 1: 'in_service' is neither"),
        (put("elements", "dc_branch", {"1": {"in_service": True}}), "dc_branch 1: it is in service"),
        (put("elements", "storage", {"s": {}}), "storage s: it is in service"),
    ],
)  # fmt: skip
def test_egret(spoil: Spoil, words: str) -> None:
    data = json.loads(egret.write(CASE, IDS))
    spoil(data)
    refused(egret.read, json.dumps(data).encode(), words)


def test_names_of_buses_become_numbers() -> None:
    """In the order of the file: who renames buses renumbers nothing."""
    data, names = json.loads(egret.write(CASE, IDS)), {"1": "West", "2": "Nord", "3": "Ost"}
    elements = data["elements"]
    elements["bus"] = {names[key]: one for key, one in elements["bus"].items()}
    for one in [row for table in elements.values() for row in table.values()]:
        one |= {key: names[one[key]] for key in ("bus", "from_bus", "to_bus") if key in one}
    data["system"]["reference_bus"] = "West"
    read = egret.read(Path("x"), json.dumps(data).encode())
    again = egret.read(Path("x"), json.dumps(data).replace("West", "An der Elbe").encode())
    assert np.array_equal(read.case.bus, again.case.bus) and "order of the file" in read.notes[0]
    assert read.case.bus[:, 0].tolist() == [1, 2, 3] and read.case.bus[:, 2].tolist() == [0, 90, 60]


# ---- pandapower ----


def net_of(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The tiny net with its tables as dicts of columns, changed, and packed again."""
    data = json.loads(pandapower.write(CASE, IDS))
    content = data["_object"]
    for value in content.values():
        if isinstance(value, dict):
            value["_object"] = json.loads(value["_object"])
    change(content)
    for value in content.values():
        if isinstance(value, dict) and isinstance(value.get("_object"), dict):
            value["_object"] = json.dumps(value["_object"])
    return json.dumps(data).encode()


def cell(table: str, column: str, value: Any, row: int = 0) -> Spoil:
    def change(net: Any) -> None:
        frame = net[table]["_object"]
        if column not in frame["columns"]:
            frame["columns"].append(column)
            for one in frame["data"]:
                one.append(None)
        frame["data"][row][frame["columns"].index(column)] = value

    return change


def added(table: str, **row: Any) -> Spoil:
    def change(net: Any) -> None:
        frame = {"columns": list(row), "index": [0], "data": [list(row.values())]}
        net[table] = {"_module": "pandas.core.frame", "_class": "DataFrame", "_object": frame, "orient": "split"}

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("format_version", "2.14.0"), "before version 3"),
        (put("sn_mva", 0.0), "sn_mva is not positive"),
        (lambda net: net.pop("bus"), "no buses"),
        (lambda net: net["bus"]["_object"]["index"].pop(), "does not fit together"),
        (put("bus", "_object", "index", [1, 1, 3]), "index that is no number or stands twice"),
        (put("bus", "_object", "data", 0, [1]), "bus 1: the row has more or fewer cells"),
        (put("bus", "orient", "records"), "not in the form 'split'"),
        (cell("bus", "vn_kv", 0.0), "bus 1: its voltage vn_kv is not positive"),
        (cell("line", "to_bus", 9), "line 0: it is at a bus"),
        (cell("line", "length_km", 0.0), "line 0: its length"),
        (cell("load", "const_i_p_percent", 10.0), "load 0: it depends on the voltage"),
        (cell("trafo", "vk_percent", 0.0), "trafo 0: its short-circuit voltage"),
        (cell("trafo", "sn_mva", -1.0), "trafo 0: its rated power"),
        (cell("trafo", "tap_dependency_table", True), "trafo 0: its tap changer has a table"),
        (cell("shunt", "step_dependency_table", True), "shunt 0: its steps have a table"),
        (added("xward", bus=1, in_service=True), "xward 0: this model has no such element"),
        (added("storage", bus=1, in_service=True), "storage 0: this model has no such element"),
        (added("dcline", from_bus=1, to_bus=2, in_service=True), "dcline 0: this model"),
        (added("motor", bus=1), "motor 0: this model"),
        (added("impedance", from_bus=1, to_bus=2, rft_pu=0.1, xft_pu=0.1, rtf_pu=0.2, xtf_pu=0.1, sn_mva=1.0), "other direction"),
        (added("switch", bus=1, element=2, et="b", closed=True, z_ohm=0.1), "switch 0: it has an impedance"),
        (added("switch", bus=1, element=77, et="b", closed=True, z_ohm=0.0), "switch 0: it is at a bus"),
        (cell("poly_cost", "element", 77), "poly_cost 0: it is the cost of an element"),
        (added("pwl_cost", power_type="p", element=1, et="gen", points=[[0, 1, 5]]), "this element has two costs"),
        (cell("gen", "min_p_mw", 500.0), "Pmin is above Pmax"),
    ],
)  # fmt: skip
def test_pandapower(change: Spoil, words: str) -> None:
    refused(pandapower.read, net_of(change), words)


def test_pandapower_out_of_service_is_no_fault() -> None:
    assert len(pandapower.read(Path("x"), net_of(added("storage", bus=1, in_service=False))).case.bus) == 3


# ---- PyPSA ----


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("buses.csv", None, None, "there is no buses.csv"),
        ("buses.csv", b"1,230.0", b"1,0.0", "row 1 of buses: its voltage v_nom"),
        ("buses.csv", b"2,230.0", b"1,230.0", "buses.csv, line 3: a name is empty or stands twice"),
        ("buses.csv", b"name,v_nom", b"name,name", "a column stands twice"),
        ("buses.csv", b"1,230.0", b"1,230.0,7", "buses.csv, line 2: the row has more or fewer cells"),
        ("buses.csv", b"1,230.0", b'1,"230.0', "not CSV"),
        ("buses.csv", b"name", b"na\xffme", "buses.csv: the file is not UTF-8"),
        ("lines.csv", b"1-2 1,1,2", b"1-2 1,1,9", "row 1 of lines: it is at a bus"),
        ("transformers.csv", b",pi,", b",w,", "neither t nor pi"),
        ("transformers.csv", b",150.0,", b",0.0,", "s_nom is not positive"),
        ("generators.csv", b",Slack,200.0", b",Slack,x", "'p_nom' is not a number"),
        ("links.csv", b"", b"name,bus0,bus1\nl,1,2\n", "row 1 of links: this model has no links"),
        ("storage_units.csv", b"", b"name,bus\ns,1\n", "row 1 of storage_units"),
        ("stores.csv", b"", b"name,bus,active\ns,1,False\n", None),
        ("loads-p_set.csv", b"", b"snapshot,2\n0,5.0\n1,6.0\n", "there are 2 snapshots"),
        ("meta.json", b"100.0", b"-1", "base that is not positive"),
    ],
)  # fmt: skip
def test_pypsa(file: str, old: bytes | None, new: bytes | None, words: str | None) -> None:
    files = pypsa.write(CASE, IDS)
    if old is None or new is None:
        del files[file]
    else:
        assert old in files.get(file, b"")
        files[file] = files.get(file, b"").replace(old, new, 1) if old else new
    if words is None:
        assert len(pypsa.read(Path("x"), files).case.branch) == 3
    else:
        refused(pypsa.read, files, words)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("type", "490-AL1/64-ST1A 380.0", "it has a type of the library"),
        ("num_parallel", "2.0", "it has a type of the library"),
    ],
)  # fmt: skip
def test_pypsa_types_of_lines(column: str, value: str, words: str) -> None:
    files = pypsa.write(CASE, IDS)
    head, *rows = files["lines.csv"].decode().splitlines()
    files["lines.csv"] = "\n".join([f"{head},{column}", *(f"{row},{value}" for row in rows)]).encode()
    refused(pypsa.read, files, words)


def test_pypsa_takes_the_values_of_the_only_snapshot() -> None:
    files = pypsa.write(CASE, IDS)
    files["loads-p_set.csv"] = b"snapshot,2\nnow,77.0\n"
    assert pypsa.read(Path("x"), files).case.bus[:, 2].tolist() == [0, 77, 60]


@pytest.mark.parametrize(
    "data", [b"CDF\x01", b"CDF\x02" + b"\0" * 40, b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + b"x" * 400]
)
def test_netcdf(data: bytes) -> None:
    if data.startswith(b"\x89"):
        pytest.importorskip("netCDF4", reason="netCDF4 reads HDF5")
    refused(pypsa_netcdf.read, data, "cannot be read|no buses")


def test_netcdf_by_its_first_bytes() -> None:
    """Whatever libraries are there."""
    refused(pypsa_netcdf.read, b"CDX\x01" + b"\0" * 40, "this is no netCDF file")


# ---- .mat ----


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def array(kind: int, dims: tuple[int, int], name: bytes, body: bytes) -> bytes:
    head = element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack("<ii", *dims)) + element(1, name)
    return element(14, head + body)


HEAD = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a MATLAB 5 file"),
        (b"\x89HDF\r\n\x1a\n" + b"x" * 200, "MATLAB 7.3"),
        (HEAD, "no struct mpc"),
        (HEAD + b"1234", "ends in the middle"),
        (HEAD + struct.pack("<II", 14, 10**6), "longer than the file"),
        (HEAD + array(6, (2, 2), b"x", element(9, b"\0" * 8)), "more or fewer numbers"),
        (HEAD + array(6, (10**5, 10**5), b"x", element(9, b"\0" * 8)), "more or fewer numbers"),
        (HEAD + array(3, (1, 1), b"x", b""), "an object, a sparse matrix or a function"),
        (HEAD + array(17, (1, 1), b"x", b""), "an object"),
        (HEAD + array(1, (1, 10**9), b"x", b""), "ends before its parts"),
        (HEAD + array(0x806, (1, 1), b"x", element(9, b"\0" * 8)), "complex"),
        (HEAD + element(9, b"\0" * 8), "something beside arrays"),
        (HEAD + 2 * array(6, (1, 1), b"x", element(9, b"\0" * 8)), "a variable stands twice"),
        (HEAD + struct.pack("<II", 15, 4) + b"zzzz", "cannot be unpacked"),
    ],
)  # fmt: skip
def test_mat(data: bytes, words: str) -> None:
    refused(matfile.read, data, words)


def test_mat_nests_no_deeper_than_a_case() -> None:
    body = array(6, (0, 0), b"", element(9, b""))
    for _ in range(2000):
        body = array(1, (1, 1), b"", body)
    refused(matfile.read, HEAD + body, "nest deeper")


def test_mat_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes that unpack to more than any case."""
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "1")
    packed = zlib.compress(array(6, (1, 10**6), b"x", element(9, b"\0" * 8 * 10**6)), 9)
    assert len(packed) < 20000
    refused(matfile.read, HEAD + struct.pack("<II", 15, len(packed)) + packed, "more than the 1 MB")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "1"}, "version is not '2'"),
        ({"baseMVA": np.array([[1.0, 2.0]])}, "baseMVA is missing or not one number"),
        ({"A": np.ones((1, 2))}, "mpc.A adds terms"),
        ({"bus": "x"}, "mpc.bus is missing or no table"),
        ({"gen": np.full((1, 10), np.nan)}, "gen"),
        ({"dcline": np.ones((1, 17))}, "a DC line is in service"),
    ],
)  # fmt: skip
def test_mat_content(change: dict[str, Any], words: str) -> None:
    from scipy.io import savemat

    tables = {"version": "2", "baseMVA": 100.0, "bus": CASE.bus, "gen": CASE.gen, "branch": CASE.branch}
    stream = io.BytesIO()
    savemat(stream, {"mpc": tables | change})
    refused(matfile.read, stream.getvalue(), words)


def test_mat_knows_both_orders_of_bytes() -> None:
    body = struct.pack(">II", 14, 56) + struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 1, 1)
    body += struct.pack(">HH", 1, 1) + b"x\0\0\0" + struct.pack(">IId", 9, 8, 2.5)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    assert variables(Path("x"), head + body)["x"].tolist() == [[2.5]]


# ---- XML ----


def zipped(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return stream.getvalue()


BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (BOMB, "document type"),
        (zipped(a=b"<x/>", b=BOMB), "b: it has a document type"),
        (b"\xff\xfe" + "<x/>".encode("utf-16-le"), "not XML in UTF-8"),
        (b"<?xml version='1.0' encoding='UTF-7'?><x/>", "its coding is none"),
        (b"hello", "not XML"),
        (b"<a>\n<b></a>", "x.json, line 2: x.json: this is not XML"),
        (zipped(**{"..__x": b"<x/>"}), "leads out of it"),
        (zipped(a__x=b"<x/>", b__x=b"<x/>"), "stands twice"),
        (b"PK\x03\x04 broken", "cannot be unpacked"),
        (zipped(**{f"f{i}": b"<x/>" for i in range(70)}), "more than 64 files"),
    ],
)  # fmt: skip
def test_xml(data: bytes, words: str) -> None:
    refused(xml_files.read, data, words)


def test_zip_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "1")
    refused(xml_files.read, zipped(a=b"<x>" + b" " * 3_000_000), "more than the 1 MB")


def test_messages_show_no_values() -> None:
    """Logs are not the place for what a case protects."""
    data = json.loads(powermodels.write(CASE, IDS))
    data["branch"]["1"] |= {"br_x": "0.123454321"}
    assert "12345" not in str(refused(powermodels.read, json.dumps(data).encode(), "branch 1: 'br_x' is not a number"))
    with pytest.raises(gv.GridVeilError):
        egret.read(Path("x"), b"{}")
