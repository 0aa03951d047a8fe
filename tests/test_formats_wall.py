"""The wall of formats: what a file says beside its network leaves no trace in a release, in whatever format it goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import pytest

import gridveil as gv
from gridveil.casefile.case import Case
from gridveil.casefile.read import read_bytes
from gridveil.formats import egret, matfile, pandapower, powermodels, pypsa
from gridveil.formats.imported import Identity, numbered
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

from .test_formats_roundtrip import FORMATS, again

CASE = gv.read_case("case14")
IDS = numbered(CASE)


def outputs(case: Case) -> dict[str, bytes | Mapping[str, bytes]]:
    """A release of a case with a noise that is always the same, in every format; from its file alone."""
    made = release(split(case), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(5), workshop=Workshop)
    written = read_bytes("released.m", made.text.encode())
    found = {name: import_module(f"gridveil.formats.{name}").write(written, numbered(written)) for name in FORMATS}
    return {"released.m": made.text.encode(), **found}


def dressed_pandapower(data: bytes) -> bytes:
    """Other names, lengths, coordinates, nameplates and a title, a dead line and a solved state; the same network."""
    net = json.loads(data)
    content = net["_object"]
    frames = {name: json.loads(value["_object"]) for name, value in content.items() if isinstance(value, dict)}

    def change(table: str, column: str, value: Callable[[Any], Any]) -> None:
        place = frames[table]["columns"].index(column)
        for row in frames[table]["data"]:
            row[place] = value(row[place])

    for table in ("bus", "line", "trafo", "gen", "ext_grid", "load"):
        change(table, "name", lambda old: f"Umspannwerk {old}")
    change("bus", "geo", lambda _: '{"coordinates": [7.1, 51.2], "type": "Point"}')
    change("line", "length_km", lambda _: 4.0)
    for column in ("r_ohm_per_km", "x_ohm_per_km", "c_nf_per_km"):
        change("line", column, lambda old: old / 4)
    change("line", "std_type", lambda _: "NAYY 4x150 SE")
    change("line", "type", lambda _: "cs")
    for column in ("sn_mva", "vk_percent", "vkr_percent"):
        change("trafo", column, lambda old: old * 2)
    change("trafo", "max_loading_percent", lambda old: None if old is None else old / 2)
    change("gen", "sn_mva", lambda _: 123.0)
    change("gen", "vm_pu", lambda old: old + 0.01)
    change("gen", "p_mw", lambda old: old + 1)
    dead = list(frames["line"]["data"][0])
    dead[frames["line"]["columns"].index("in_service")] = False
    frames["line"]["index"].append(999)
    frames["line"]["data"].append(dead)
    for name, frame in frames.items():
        content[name]["_object"] = json.dumps(frame)
    results = {"columns": ["vm_pu", "va_degree"], "index": [1], "data": [[1.0371, -4.2]]}
    content["res_bus"] = {"_class": "DataFrame", "_object": json.dumps(results), "orient": "split"}
    return json.dumps({**net, "_object": {**content, "name": "Netz der Stadtwerke"}}).encode()


def dressed_powermodels(data: bytes) -> bytes:
    net = json.loads(data)
    net |= {"name": "the operator's own", "source_type": "pti", "note": "confidential"}
    for row in net["bus"].values():
        row |= {"name": f"bus of {row['bus_i']}", "vm": 1.03, "va": 0.2, "area": 7, "zone": 8}
    for row in net["gen"].values():
        row |= {"pg": 0.1, "vg": 1.02, "mbase": 250.0, "startup": 9.0, "ramp_agc": 3.0}
    for row in net["branch"].values():
        row |= {"rate_b": 1.0, "rate_c": 2.0, "length": 12.5, "pf": 0.3}
    first = net["branch"]["1"]
    net["branch"]["900"] = {**first, "index": 900, "br_status": 0, "br_x": 0.7, "source_id": ["branch", 900]}
    net["load"]["900"] = {"load_bus": 1, "pd": 5.0, "qd": 1.0, "status": 0, "index": 900}
    return json.dumps(net).encode()


def dressed_egret(data: bytes) -> bytes:
    net = json.loads(data)
    net["system"] |= {"model_name": "secret", "owner": "somebody"}
    for key, row in net["elements"]["bus"].items():
        row |= {"name": f"Station {key}", "vm": 1.02, "va": 3.0, "latitude": 51.2, "area": 3.0}
    for row in net["elements"]["branch"].values():
        row |= {"rating_short_term": 400.0, "length": 11.0, "pf": 3.0, "id": f"x{row['id']}"}
    net["elements"]["generator"]["900"] = {**net["elements"]["generator"]["1"], "in_service": False, "id": "old"}
    return json.dumps(net).encode()


def dressed_pypsa(files: dict[str, bytes]) -> dict[str, bytes]:
    result = dict(files)
    for file, columns in {
        "lines.csv": ("length", "carrier"),
        "buses.csv": ("x", "y"),
        "transformers.csv": ("build_year",),
    }.items():
        head, *rows = files[file].decode().splitlines()
        named = [
            row if file == "buses.csv" else f"Leitung {number}," + row.split(",", 1)[1]
            for number, row in enumerate(rows)
        ]
        extra = ",".join("12.5" for _ in columns)
        result[file] = "\n".join([",".join([head, *columns]), *(f"{row},{extra}" for row in named)]).encode()
    result["network.csv"] = b"name,srid\nStadtwerke,4326\n"
    return result


def dressed_mat(_: bytes) -> bytes:
    bus = CASE.bus.copy()
    bus[:, [6, 7, 8, 10]] = 3, 1.04, 2, 4
    case = Case("secret", CASE.base_mva, bus, CASE.gen, CASE.branch, CASE.gencost, source="elsewhere")
    return matfile.write(case, Identity(IDS.circuit, IDS.machine, tuple(f"Werk {i}" for i in range(14))))


@pytest.fixture(scope="module")
def plain() -> dict[str, dict[str, bytes | Mapping[str, bytes]]]:
    """The releases of what each format has of the case, without a dress."""
    return {
        name: outputs(again(name, CASE).case) for name in ("matfile", "powermodels", "egret", "pandapower", "pypsa")
    }


@pytest.mark.parametrize(
    ("name", "module", "dress"),
    [
        ("pandapower", pandapower, dressed_pandapower),
        ("powermodels", powermodels, dressed_powermodels),
        ("egret", egret, dressed_egret),
        ("pypsa", pypsa, dressed_pypsa),
        ("matfile", matfile, dressed_mat),
    ],
)  # fmt: skip
def test_a_dress_leaves_no_trace(
    name: str,
    module: Any,
    dress: Callable[[Any], Any],
    plain: dict[str, dict[str, bytes | Mapping[str, bytes]]],
    tmp_path: Any,
) -> None:
    read = module.read(tmp_path / "x", dress(module.write(CASE, IDS)))
    assert outputs(read.case) == plain[name]


def test_another_network_leaves_one(plain: dict[str, dict[str, bytes | Mapping[str, bytes]]]) -> None:
    """The comparison can fail: a public number that differs is seen in every format."""
    bus = CASE.bus.copy()
    bus[3, 11] -= 0.001
    other = Case("x", CASE.base_mva, bus, CASE.gen, CASE.branch, CASE.gencost)
    found = outputs(again("powermodels", other).case)
    assert all(found[name] != plain["powermodels"][name] for name in found)
