"""Broken files: a reader gives a network or a sentence, and nothing else, within a second."""

from __future__ import annotations

import random
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any
from zipfile import ZipFile

import pytest

import gridveil as gv
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.errors import CaseFileError
from gridveil.formats import xml_files
from gridveil.formats.imported import numbered

from .conftest import TINY
from .fuzz import broken, broken_folder

FORMATS = ("matfile", "powermodels", "egret", "pandapower", "pypsa", "pypsa_netcdf")


def survived(name: str, count: int, seed: int) -> tuple[int, int]:
    """How many broken files were read, and how many refused."""
    module: Any = import_module(f"gridveil.formats.{name}")
    cases = read_bytes("tiny.m", TINY.encode()), gv.read_case("case14")
    whole = [module.write(case, numbered(case)) for case in cases]
    luck, read, refused = random.Random(seed), 0, 0
    for number in range(count):
        source = whole[number % 4 == 0]
        data = broken_folder(source, luck) if isinstance(source, dict) else broken(source, luck)
        started = perf_counter()
        try:
            to_network(module.read(Path("x"), data).case)
            read += 1
        except CaseFileError as error:
            assert error.advice and "Traceback" not in str(error)
            refused += 1
        assert perf_counter() - started < 5
    return read, refused


@pytest.mark.parametrize("name", FORMATS)
def test_some_broken_files(name: str) -> None:
    read, refused = survived(name, 150, 1)
    assert read + refused == 150 and refused > 30


@pytest.mark.sweep
@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_broken_files(name: str) -> None:
    assert sum(survived(name, 10_000, 2)) == 10_000


def survived_xml(count: int) -> int:
    """How many broken XIIDM files were read or refused."""
    pytest.importorskip("pypowsybl", reason="pypowsybl is not installed")
    network = import_module("pypowsybl.network").create_micro_grid_be_network()
    with ZipFile(network.save_to_binary_buffer(format="XIIDM")) as packed:
        whole = packed.read(packed.namelist()[0])
    luck, done = random.Random(3), 0
    for _ in range(count):
        try:
            to_network(xml_files.read(Path("x.xiidm"), broken(whole, luck)).case)
        except CaseFileError as error:
            assert error.advice
        done += 1
    return done


def test_some_broken_xml() -> None:
    assert survived_xml(60) == 60


@pytest.mark.sweep
def test_ten_thousand_broken_xml() -> None:
    assert survived_xml(10_000) == 10_000


def test_every_prefix_of_a_file() -> None:
    """What was cut off while it was copied is never taken for whole."""
    case = read_bytes("tiny.m", TINY.encode())
    for name in ("matfile", "powermodels", "egret", "pandapower", "pypsa_netcdf"):
        module: Any = import_module(f"gridveil.formats.{name}")
        data = module.write(case, numbered(case))
        for end in range(0, len(data.rstrip()) - 1, 61):
            with pytest.raises(CaseFileError):
                module.read(Path("x"), data[:end])
