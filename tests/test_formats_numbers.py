"""Numbers of buses are released: names, and rows out of service, decide none of them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.formats import egret, pandapower, powsybl, pypsa
from gridveil.formats.find import named_case
from gridveil.formats.imported import Imported, numbered
from gridveil.formats.numbering import by_name, step_aside
from gridveil.formats.read import read_any
from gridveil.sealed.split import split

from .raw_files import BUSES, LINES, UNITS, raw33, three, two

CASE = gv.read_case("case5")
IDS = numbered(CASE)
NAMES = ("Aachen", "Berlin", "Celle", "Dresden", "Essen")
OTHERS = ("Essen", "Aachen", "2", "Dresden", "Berlin")


def seen(found: Imported) -> list[list[int]]:
    """What a release shows of who is where."""
    public = split(named_case(found)).structure
    parts = (public.buses.number, public.lines.bus_from, public.lines.bus_to, public.generators.bus)
    return [part.tolist() for part in parts]


def test_numbers_make_way() -> None:
    assert step_aside([7, 0, 3, 12], {3, 4, 12}) == [7, 13, 14, 15]
    assert by_name(["7", "3"], ["x", "9"]) == ({"7": 7, "3": 3, "x": 10, "9": 9}, True)
    assert by_name(["b", "a"], ["2"]) == ({"b": 1, "a": 2, "2": 3}, False)


# ---- PSS/E ----


def of_raw(folder: Path, transformers: str, **parts: str) -> Imported:
    file = folder / "x.raw"
    file.write_text(raw33(transformers, **parts))
    return read_any(file, missing_cost=20.0)


def test_a_bus_out_of_service_with_the_number_of_a_star(tmp_path: Path) -> None:
    plain = of_raw(tmp_path, three(1, 1) + two(2, 1))
    assert plain.case.bus[-1, 0] == 11
    dead = "11,'GONE',132.0,4,1,1,1,1.0,0.0,1.1,0.9,1.1,0.9\n"
    unit, line = "11,'1 ',0,0,1,-1,1.0,0,100.0,0,1,0,0,1,1,100,9,0,1,1.0\n", "1,11,'1 ',0.5,0.5\n"
    found = of_raw(tmp_path, three(1, 1) + two(2, 1), buses=BUSES + dead, units=UNITS + unit, lines=LINES + line)
    assert seen(found) == seen(plain) and found.case.bus[:, 0].tolist() == [1, 2, 3, 4, 12, 11]
    assert found.case.gen[-1, 0] == 12 and [1, 12] in found.case.branch[:, :2].astype(int).tolist()


def test_a_transformer_of_buses_out_of_service_has_no_star(tmp_path: Path) -> None:
    """It says that it is in service, and would be the first in the order of buses and ids."""
    plain = of_raw(tmp_path, three(1, 1, name="5") + three(1, 2, name="6"))
    buses = BUSES + "".join(f"{at},'GONE',132.0,4\n" for at in (7, 8, 9))
    gone = three(1, 1, name="0").replace("1,2,3,'0 '", "7,8,9,'0 '")
    half = three(1, 1, 4, name="0").replace("1,2,3,'0 '", "1,8,9,'0 '")
    for other in (gone, half):
        found = of_raw(tmp_path, other + three(1, 1, name="5") + three(1, 2, name="6"), buses=buses)
        assert other.count("'0 '") == 1 and seen(found) == seen(plain)


# ---- EGRET ----


def of_egret(names: tuple[str, ...], dead: dict[str, str] | None = None) -> Imported:
    """Case 5 with names, and with a bus out of service before all others."""
    data: dict[str, Any] = json.loads(egret.write(CASE, IDS))
    elements, name = data["elements"], dict(zip("12345", names, strict=True))
    for row in [row for table in elements.values() for row in table.values()]:
        row |= {key: name[row[key]] for key in ("bus", "from_bus", "to_bus") if key in row}
    rows = {name[key]: row for key, row in elements["bus"].items()}
    gone = {key: {**rows[names[1]], "matpower_bustype": kind} for key, kind in (dead or {}).items()}
    elements["bus"] = gone | rows
    data["system"]["reference_bus"] = name[data["system"]["reference_bus"]]
    return egret.read(Path("x"), json.dumps(data).encode())


def test_egret() -> None:
    named = seen(of_egret(NAMES))
    assert named[0] == [1, 2, 3, 4, 5] and seen(of_egret(tuple(f"{one}!" for one in OTHERS))) == named
    assert seen(of_egret(NAMES, {"Aaa": "isolated"})) == named
    assert seen(of_egret(NAMES, {"Aaa": "PQ"}))[0] != named[0]  # in service it counts
    own = seen(of_egret(("11", "12", "13", "14", "15")))
    assert own[0] == [11, 12, 13, 14, 15]
    assert seen(of_egret(("11", "12", "13", "14", "15"), {"Aaa": "isolated", "9": "isolated"})) == own


def test_names_of_units_and_branches_do_not_order_them() -> None:
    data = json.loads(egret.write(CASE, IDS))
    first = seen(egret.read(Path("x"), json.dumps(data).encode()))
    for table in ("generator", "branch"):
        rows = data["elements"][table]
        data["elements"][table] = {f"n{len(rows) - at}": row for at, row in enumerate(rows.values())}
    assert seen(egret.read(Path("x"), json.dumps(data).encode())) == first


# ---- PyPSA ----


def of_pypsa(names: tuple[str, ...]) -> Imported:
    name, files = dict(zip("12345", names, strict=True)), dict[str, bytes]()
    for file, data in pypsa.write(CASE, IDS).items():
        files[file] = data
        if file.endswith(".csv"):
            head, *rows = csv.reader(io.StringIO(data.decode()))
            at = [place for place, key in enumerate(head) if key in ("bus", "bus0", "bus1")]
            at += [0] if file == "buses.csv" else []
            rows = [[name[cell] if place in at else cell for place, cell in enumerate(row)] for row in rows]
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([head, *rows])
            files[file] = text.getvalue().encode()
    return pypsa.read(Path("x"), files)


def test_pypsa() -> None:
    named = seen(of_pypsa(NAMES))
    assert named[0] == [1, 2, 3, 4, 5] and seen(of_pypsa(OTHERS)) == named
    assert seen(of_pypsa(("7", "3", "9", "1", "5")))[0] == [7, 3, 9, 1, 5]


# ---- pandapower ----

STAR = {
    "hv_bus": 1, "mv_bus": 2, "lv_bus": 3, "pfe_kw": 0.0, "i0_percent": 0.0, "in_service": True,
    "shift_mv_degree": 0.0, "shift_lv_degree": 0.0,
    **{f"vn_{side}_kv": 230.0 for side in ("hv", "mv", "lv")}, **{f"sn_{side}_mva": 100.0 for side in ("hv", "mv", "lv")},
    **{f"vk_{side}_percent": 10.0 for side in ("hv", "mv", "lv")}, **{f"vkr_{side}_percent": 0.3 for side in ("hv", "mv", "lv")},
}  # fmt: skip


def of_pandapower(stars: list[dict[str, Any]], dead: tuple[int, ...] = ()) -> Imported:
    data = json.loads(pandapower.write(CASE, IDS))
    content = data["_object"]
    body = {"columns": list(STAR), "index": list(range(len(stars))), "data": [list(one.values()) for one in stars]}
    content["trafo3w"] = {"_class": "DataFrame", "orient": "split", "_object": json.dumps(body)}
    bus = json.loads(content["bus"]["_object"])
    for index in dead:
        row = list(bus["data"][0])
        row[bus["columns"].index("in_service")] = False
        bus["index"].append(index)
        bus["data"].append(row)
    content["bus"]["_object"] = json.dumps(bus)
    return pandapower.read(Path("x"), json.dumps(data).encode())


@pytest.mark.parametrize("dead", [(4711,), (0,), (6,), (0, 6, 7)])
def test_pandapower_buses_out_of_service(dead: tuple[int, ...]) -> None:
    """Far above, at zero, and where the star stands."""
    plain, found = of_pandapower([STAR]), of_pandapower([STAR], dead)
    assert seen(plain)[0] == [1, 2, 3, 4, 5, 6] and seen(found) == seen(plain)
    assert len(np.unique(found.case.bus[:, 0])) == 6 + len(dead)


def test_pandapower_transformers_out_of_service() -> None:
    plain = seen(of_pandapower([STAR]))
    found = of_pandapower([{**STAR, "in_service": False}, {**STAR, "lv_bus": 9}, STAR], (9,))
    assert seen(found) == plain
    assert "2 transformers of three windings out of service were left out" in found.notes


# ---- pypowsybl ----


class Grid:
    """As much of a pypowsybl network as is read: two buses, a line, a unit, and transformers of three windings."""

    id = "x"

    def __init__(self, names: tuple[str, str], *, gone_first: bool) -> None:
        pandas = pytest.importorskip("pandas")
        a, b = names
        leg: dict[str, Any] = {f"{key}{n}_at_current_tap": value for n in "123" for key, value in zip("rxgb", (0.1, 1.0, 0.0, 0.0), strict=True)}  # fmt: skip
        leg |= {f"rho{n}": 1.0 for n in "123"} | {f"voltage_level{n}_id": "v" for n in "123"} | {"rated_u0": 110.0}
        star = leg | {"bus1_id": a, "bus2_id": b, "bus3_id": ""}
        gone = leg | {"bus1_id": "", "bus2_id": "", "bus3_id": ""}
        unit = {"bus_id": a, "min_q": -9.0, "max_q": 9.0, "min_p": 0.0, "max_p": 9.0, "voltage_regulator_on": True, "target_v": 110.0}  # fmt: skip
        line = {"bus1_id": a, "bus2_id": b, "voltage_level1_id": "v", "voltage_level2_id": "v", "r": 1.0, "x": 9.0}
        tables = {
            "voltage_levels": {"v": {"nominal_v": 110.0}},
            "buses": {a: {"voltage_level_id": "v"}, b: {"voltage_level_id": "v"}},
            "generators": {"g": unit},
            "lines": {"l": line},
            "3_windings_transformers": ({"a": gone} if gone_first else {}) | {"t": star},
        }
        self.frames = {key: pandas.DataFrame.from_dict(rows, orient="index") for key, rows in tables.items()}
        self.empty = pandas.DataFrame()

    def __getattr__(self, name: str) -> Any:
        return lambda all_attributes: self.frames.get(name.removeprefix("get_"), self.empty)


def test_pypowsybl() -> None:
    found = [
        powsybl.imported(Grid(names, gone_first=gone), Path("x")).case
        for names, gone in ((("a", "b"), False), (("b", "a"), False), (("a", "b"), True))
    ]
    assert found[0].bus[:, 0].tolist() == [1, 2, 3] and found[0].gen[:, 0].tolist() == [1]
    for one in found[1:]:
        assert np.array_equal(one.bus, found[0].bus) and np.array_equal(one.branch, found[0].branch)
        assert np.array_equal(one.gen, found[0].gen)
