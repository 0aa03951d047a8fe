"""Networks in memory: recognised without their libraries, refused with a sentence, and the facade's own functions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats import objects
from gridveil.formats.imported import numbered
from gridveil.libraries import needed
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

from .same import differences


def pypower(**change: Any) -> dict[str, Any]:
    return objects.to_pypower(gv.read_case("case14")) | change


def test_pypower_there_and_back() -> None:
    case = gv.read_case("case14")
    assert differences(case, numbered(case), objects.from_object(gv.to_pypower(case))) == {}
    assert gv.solve_opf(objects.from_object(pypower()).case).cost == pytest.approx(gv.solve_opf(case).cost, rel=1e-9)
    assert np.array_equal(gv.load(pypower()).lines.b, gv.load(case).lines.b)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"baseMVA": "many"}, "'baseMVA' is not a number"),
        ({"baseMVA": 0.0}, "the system base"),
        ({"bus": "x"}, "'bus' is no table of numbers"),
        ({"bus": np.ones(13)}, "'bus' has not two dimensions"),
        ({"gen": np.full((1, 21), np.nan)}, "names a bus"),
        ({"A": np.ones((1, 3))}, "'A' adds terms"),
        ({"dcline": np.ones((1, 17))}, "a DC line is in service"),
    ],
)  # fmt: skip
def test_pypower_refusals(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CaseFileError, match=words):
        objects.from_object(pypower(**change))


@pytest.mark.parametrize("thing", [None, 5, {}, {"bus": []}, object(), np.ones(3)])
def test_strangers(thing: object) -> None:
    assert objects.kind(thing) is None
    with pytest.raises(GridVeilError, match="is no network that is known"):
        objects.from_object(thing)


def test_a_library_that_is_not_there() -> None:
    with pytest.raises(GridVeilError, match=r"no_such_library.*pip install 'gridveil\[formats\]'"):
        needed("no_such_library", "formats")


def test_a_release_gives_what_it_wrote() -> None:
    """The certified point, not another: what other tools get is the file."""
    made = release(split(gv.load("case14")), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(1), workshop=Workshop)
    found = gv.to_pypower(made)
    assert np.array_equal(found["bus"][:, 7], made.point.vm) and found["gen"].shape == (5, 21)
    network = gv.to_pypower(made.network)  # without a point: voltages at 1, no power
    assert np.array_equal(network["branch"][:, :5], found["branch"][:, :5]) and not np.any(network["bus"][:, 8])
    assert set(network["bus"][:, 7]) == {1.0}


@pytest.mark.parametrize("ask", [gv.to_pandapower, gv.to_pypsa])
def test_the_facade_makes_networks_of_others(ask: Callable[[str], Any]) -> None:
    library = ask.__name__.removeprefix("to_")
    pytest.importorskip(library, reason=f"{library} is not installed")
    assert objects.kind(ask("case14")) == library


def test_no_library_is_loaded_to_look_at_an_object() -> None:
    words = "import sys; from gridveil.formats import objects; objects.kind({}); print([m for m in ('pandas', 'pandapower', 'pypsa', 'pypowsybl') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout == "[]\n"
