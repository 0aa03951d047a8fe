"""Formats, written and read again: every field that a format can hold comes back, by identity; costs of dispatch too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case
from gridveil.errors import GridVeilError
from gridveil.formats.imported import Identity, Imported, numbered

from .conftest import Bend
from .same import differences, with_charging_in_shunts

FORMATS = ("matfile", "powermodels", "egret", "pandapower", "pypsa", "pypsa_netcdf")
SIZES = ("14_ieee", "39_epri", "118_ieee", "300_ieee", "1354_pegase", "2869_pegase", "9241_pegase")
NOT_HELD = {"pandapower": ("angmin", "angmax")}
"""Fields that a format cannot hold."""
Written = bytes | dict[str, bytes]


def writer(name: str) -> Callable[[Case, Identity], Written]:
    return import_module(f"gridveil.formats.{name}").write  # type: ignore[no-any-return]


def again(name: str, case: Case, identity: Identity | None = None) -> Imported:
    module: Any = import_module(f"gridveil.formats.{name}")
    return module.read(Path("x"), module.write(case, identity or numbered(case)))  # type: ignore[no-any-return]


def held(name: str, case: Case) -> Case:
    """What a format holds of a case."""
    if name != "pandapower":
        return case
    case = with_charging_in_shunts(case)
    branch = case.branch.copy()
    branch[:, [c.ANGLE_MIN, c.ANGLE_MAX]] = -360, 360
    return replace(case, branch=branch)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case_name", ["case5", "case14", "case30", "case39_epri", "case57", "case118_ieee"])
def test_what_is_written_is_read(name: str, case_name: str) -> None:
    case = gv.read_case(case_name)
    assert differences(held(name, case), numbered(case), again(name, case), NOT_HELD.get(name, ())) == {}


@pytest.mark.parametrize("name", FORMATS)
def test_a_field_that_changed_is_seen(name: str) -> None:
    """The comparison has teeth: a reactance that is off by 1e-11 is a difference."""
    case = gv.read_case("case14")
    branch = case.branch.copy()
    branch[3, c.X] *= 1 + 1e-11
    assert set(
        differences(held(name, replace(case, branch=branch)), numbered(case), again(name, case), NOT_HELD.get(name, ()))
    ) == {"x"}


@pytest.mark.parametrize("name", FORMATS)
def test_dispatch_costs_the_same(name: str) -> None:
    case = gv.read_case("case39_epri")
    cost = gv.solve_opf(held(name, case)).require().cost
    assert gv.solve_opf(again(name, case).case).require().cost == pytest.approx(cost, rel=1e-9)


@pytest.mark.sweep
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_all_sizes(name: str, size: str, pglib: Path) -> None:
    case = gv.read_case(pglib / f"pglib_opf_case{size}.m")
    read = again(name, case)
    assert differences(held(name, case), numbered(case), read, NOT_HELD.get(name, ())) == {}
    cost = gv.solve_opf(held(name, case)).require().cost
    assert gv.solve_opf(read.case).require().cost == pytest.approx(cost, rel=1e-9)


@pytest.mark.parametrize("name", FORMATS)
def test_ids_and_names_are_kept(name: str, tiny: Bend) -> None:
    case = tiny()
    identity = Identity(("a", "b", "c"), ("G1", "G'2"), ("Ost", "Süd", 'We "st"'))
    read = again(name, case, identity).identity
    if name != "matfile":  # which has no place for them
        assert sorted(read.circuit) == ["a", "b", "c"] and sorted(read.machine) == ["G'2", "G1"]
    if not name.startswith("pypsa"):
        assert read.bus_names == identity.bus_names


@pytest.mark.parametrize("name", FORMATS)
def test_parallel_branches_and_units_are_told_apart(name: str, tiny: Bend) -> None:
    line, unit = (
        "	2	3	0.01	0.08	0.02	150	150	150	0	0	1	-30	30;\n",
        "	3	0	0	50	-50	1	100	1	80	0;\n",
    )
    case = tiny((line, line + line.replace("0.08", "0.05") + line.replace("2	3	0.01	0.08", "3	2	0.01	0.06")),
                (unit, unit + unit.replace("80", "60")), ("	2	0	0	3	0.01	20	0;\n", "	2	0	0	3	0.01	20	0;\n" * 2))  # fmt: skip
    identity = numbered(case)
    assert identity.circuit == ("1", "1", "1", "2", "3") and identity.machine == ("1", "1", "2")
    assert differences(held(name, case), identity, again(name, case), NOT_HELD.get(name, ())) == {}


POINTS = (
    "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;",
    "	1	0	0	3	0	0	50	500	200	9500;\n	1	0	0	2	0	0	110	2200	0	0;",
)


@pytest.mark.parametrize("name", ["matfile", "powermodels", "egret", "pandapower"])
def test_piecewise_costs(name: str, tiny: Bend) -> None:
    case = tiny(POINTS)
    assert differences(held(name, case), numbered(case), again(name, case), NOT_HELD.get(name, ())) == {}


@pytest.mark.parametrize("name", ["matfile", "egret", "pandapower"])
def test_reactive_costs(name: str, tiny: Bend) -> None:
    case = tiny(
        (
            "	2	0	0	3	0.01	20	0;",
            "	2	0	0	3	0.01	20	0;\n	2	0	0	3	0.5	1	0;\n	2	0	0	3	0.25	2	0;",
        )
    )
    assert differences(held(name, case), numbered(case), again(name, case), NOT_HELD.get(name, ())) == {}


def test_infinite_and_missing_limits(tiny: Bend) -> None:
    """No rating, no angle limits, no limit of reactive power."""
    case = tiny(
        ("100	-100	1	100	1	200", "Inf	-Inf	1	100	1	200"),
        ("150	150	150	0	0	1	-30	30", "0	0	0	0	0	1	0	0"),
    )
    for name in FORMATS:
        assert differences(held(name, case), numbered(case), again(name, case), NOT_HELD.get(name, ())) == {}, name


CUBIC = (
    "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;",
    "	2	0	0	4	1	0.02	10	5;\n	2	0	0	4	0	0.01	20	0;",
)
NO_KV = ("	1	3	0	0	0	0	1	1	0	230", "	1	3	0	0	0	0	1	1	0	0")
ENDLESS = (
    "	1	0	0	100	-100	1	100	1	200	0",
    "	1	0	0	100	-100	1	100	1	Inf	0",
)
REACTIVE = (
    "	2	0	0	3	0.01	20	0;",
    "	2	0	0	3	0.01	20	0;\n	2	0	0	3	0.5	1	0;\n	2	0	0	3	0.25	2	0;",
)
MIXED = (
    "	2	0	0	3	0.02	10	5;\n	2	0	0	3	0.01	20	0;",
    "	2	0	0	3	0.02	10	5	0;\n	1	0	0	2	0	0	110	2200;",
)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("pandapower", CUBIC, "unit 1 at bus 1 has another kind"),
        ("pypsa", CUBIC, "unit 1 at bus 1 has another kind"),
        ("pypsa", POINTS, "another kind"),
        ("pypsa", REACTIVE, "no costs of reactive power"),
        ("pypsa", ENDLESS, "no infinite limits of power"),
        ("pypsa", NO_KV, "bus 1 has no base voltage"),
        ("pandapower", NO_KV, "bus 1 has no base voltage"),
        ("pandapower", MIXED, "no piecewise-linear costs beside quadratic"),
    ],
)  # fmt: skip
def test_what_a_format_cannot_hold_is_refused(name: str, change: tuple[str, str], words: str, tiny: Bend) -> None:
    case = tiny(change)
    with pytest.raises(GridVeilError, match=words):
        writer(name)(case, numbered(case))


@pytest.mark.parametrize("name", FORMATS)
def test_writers_see_rows_in_service_and_nothing_else(name: str, tiny: Bend) -> None:
    """Names, titles, second ratings, flows, areas, fields of one's own and rows out of service change no byte."""
    plain = tiny()
    full = tiny(
        ("	3	2	60	20	0	5	1	1	0	230	1	1.1	0.9;", "	3	2	60	20	0	5	7	1	0	230	8	1.1	0.9;\n	4	4	5	5	0	0	1	1	0	230	1	1.1	0.9;"),
        ("	3	0	0	50	-50	1	100	1	80	0;", "	3	0	0	50	-50	1	250	1	80	0;\n	2	9	9	50	-50	1	100	0	80	0;"),
        ("	2	0	0	3	0.01	20	0;", "	2	77	88	3	0.01	20	0;\n	2	0	0	3	9	9	9;"),
        ("0.01	0.08	0.02	150	150	150", "0.01	0.08	0.02	150	151	152"),
        ("0	0	1	-30	30;\n];", "0	0	1	-30	30;\n	1	3	0.7	0.7	0	1	1	1	0	0	0	-30	30;\n];"),
        append="mpc.areas = [1 2];\nmpc.owner = 'somebody';\n",
    )  # fmt: skip
    named = replace(full, name="secret_title", source="elsewhere")
    assert _content(writer(name)(named, numbered(named))) == _content(writer(name)(plain, numbered(plain)))
    other = tiny(("	1	2	0.01	0.1", "	1	2	0.01	0.11"))
    assert _content(writer(name)(other, numbered(other))) != _content(writer(name)(plain, numbered(plain)))


def _content(written: Written) -> Mapping[str, bytes]:
    return written if isinstance(written, dict) else {"": written}


def test_mat_files_have_no_date() -> None:
    case = gv.read_case("case5")
    data = writer("matfile")(case, numbered(case))
    assert isinstance(data, bytes) and data.startswith(b"MATLAB 5.0 MAT-file") and b"Created" not in data[:128]


def test_scipy_reads_the_mat_file(tmp_path: Path) -> None:
    """By SciPy's own reader, as PYPOWER's users load it."""
    from scipy.io import loadmat

    case = gv.read_case("case14")
    data = writer("matfile")(case, numbered(case))
    assert isinstance(data, bytes)
    (tmp_path / "x.mat").write_bytes(data)
    mpc = loadmat(tmp_path / "x.mat", squeeze_me=True, struct_as_record=False)["mpc"]
    assert np.array_equal(mpc.bus, case.bus) and mpc.version == "2" and mpc.baseMVA == 100


def test_what_scipy_writes_compressed_is_read(tmp_path: Path) -> None:
    from scipy.io import savemat

    case = gv.read_case("case14")
    tables = {
        "version": "2",
        "baseMVA": 100.0,
        "bus": case.bus,
        "gen": case.gen,
        "branch": case.branch,
        "gencost": case.gencost,
    }
    names = np.array([f"Bus {i}" for i in range(14)], dtype=object).reshape(-1, 1)
    for content in ({"mpc": {**tables, "bus_name": names, "note": "x"}}, tables):
        savemat(tmp_path / "x.mat", content, do_compression=True)
        read = import_module("gridveil.formats.matfile").read(Path("x.mat"), (tmp_path / "x.mat").read_bytes())
        assert differences(case, numbered(case), read) == {}
    assert read.identity.bus_names is None and read.notes == ()
