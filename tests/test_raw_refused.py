"""One test per refusal of the readers of other formats: where, which words, what to do; and no value of the file."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats.convert import convert
from gridveil.formats.find import import_case
from gridveil.formats.read import read_any
from gridveil.formats.registry import by_name

from .raw_files import ENDING, LINES, LOADS, UNITS, raw33, three, two

GOOD = raw33(two(1, 1) + three(1, 1))
TWO = two(1, 1)


def ending(section: str, record: str) -> tuple[str, str]:
    """A record put into a section of the end of the file."""
    mark = f"BEGIN {section} DATA\n"
    assert mark in ENDING
    return mark, f"{mark}{record}\n"


REFUSED: dict[str, tuple[tuple[str, str], int | None, str]] = {
    # what is replaced, at which line it is refused, in which words
    "no revision": (("0, 100.00, 33, 0, 1, 60.00", "0, 100.00"), 1, "names no revision"),
    "an old revision": (("100.00, 33,", "100.00, 30,"), 1, "none of 32, 33, 34 and 35"),
    "a word for a revision": (("100.00, 33,", "100.00, new,"), 1, "none of 32, 33, 34 and 35"),
    "a change to another case": (("0, 100.00, 33", "1, 100.00, 33"), 1, "no whole case"),
    "a base of nothing": (("0, 100.00, 33", "0, 0.0, 33"), None, "SBASE in the header is not a positive number"),
    "a base of words": (("0, 100.00, 33", "0, much, 33"), None, "SBASE in the header is not a positive number"),
    "a bus twice": (("2,'TWO", "1,'TWO"), 5, "stands twice"),
    "a bus without a number": (("2,'TWO", "x,'TWO"), 5, "ibus of bus is not a number"),
    "a bus number with a fraction": (("2,'TWO", "2.5,'TWO"), 5, "ibus of bus is not an integer"),
    "a bus of another type": (("33.0,1,1,1,1,1.0", "33.0,7,1,1,1,1.0"), 5, "bus type is not 1, 2, 3 or 4"),
    "limits of voltage crossed": (("1.02,0.0,1.1,0.9", "1.02,0.0,0.8,0.9"), 4, "Vmin is above Vmax"),
    "text for a number": (("2,'1 ',1,1,1,20.0", "2,'1 ',1,1,1,2o.0"), 9, "pl of load is not a number"),
    "an infinite number": (("2,'1 ',1,1,1,20.0", "2,'1 ',1,1,1,1e999"), 9, "pl of load is not a number"),
    "digits apart": (("2,'1 ',1,1,1,20.0", "2,'1 ',1,1,1,2_0.0"), 9, "pl of load is not a number"),
    "a load nowhere": (("2,'1 ',1,1,1,20.0", "77,'1 ',1,1,1,20.0"), 9, "a bus that is not in the bus data"),
    "a load twice": (("3,'2 ',0,1,1,99.0", "3,'1 ',0,1,1,99.0"), 11, "two records of load at one bus have one id"),
    "a load of constant current": (("20.0,5.0,0.0,0.0,", "20.0,5.0,3.0,0.0,"), 9, "constant current"),
    "another status": (("2,'1 ',1,1,1,20.0", "2,'1 ',3,1,1,20.0"), 9, "stat of load is none of 0, 1"),
    "a shunt twice": (("3,'2 ',0,50.0", "3,'1 ',0,50.0"), 14, "two records of fixshunt"),
    "a unit twice": (("4,'A ',0.0", "1,'1 ',0.0"), 17, "two units of this bus have one id"),
    "a unit nowhere": (("4,'A ',0.0", "9,'A ',0.0"), 17, "a bus that is not in the bus data"),
    "limits of a unit crossed": (("100.0,120.0,5.0", "100.0,1.0,5.0"), 16, "Pmin is above Pmax"),
    "a line twice": (("1,-4,'2 '", "4,1,'1 '"), 20, "two branches between these buses have one id"),
    "a line to itself": (("1,4,'1 '", "1,1,'1 '"), 19, "joins a bus to itself"),
    "a line without impedance": (("'1 ',0.01,0.1,0.04", "'1 ',0.0,0.0,0.04"), 19, "an infinite admittance"),
    "a line nowhere": (("1,4,'1 '", "1,40,'1 '"), 19, "a bus that is not in the bus data"),
    "a negative rating": (("0.04,100.0", "0.04,-100.0"), 19, "rateA is negative"),
    "an unknown CW": (("'1 ',1,1,1,0.001", "'1 ',4,1,1,0.001"), 22, "cw of transformer is none of 1, 2, 3"),
    "an unknown CZ": (("'1 ',1,1,1,0.001", "'1 ',1,0,1,0.001"), 22, "cz of transformer is none of 1, 2, 3"),
    "an unknown CM": (("'1 ',1,1,1,0.001", "'1 ',1,1,9,0.001"), 22, "cm of transformer is none of 1, 2"),
    "a winding of no voltage": (("1.05,132.0,0.0,70.0,0.0,0.0,0,0", "0.0,132.0,0.0,70.0,0.0,0.0,0,0"), 22, "WINDV1 or NOMV1 is not positive"),
    "CW 2 without a base voltage": ((TWO, TWO.replace("1,2,0,'1 ',1,", "1,2,0,'1 ',2,")), 22, "without a base voltage"),
    "losses beyond the impedance": (("'1 ',1,1,1,0.001,-0.01", "'1 ',1,3,1,0.001,-0.01"), None, ""),
    "no-load losses beyond the current": (("'1 ',1,1,1,0.001,-0.01", "'1 ',1,1,2,9e9,0.01"), 22, "no-load losses are larger"),
    "a negative base of a transformer": ((TWO, two(1, 2).replace(",60.0\n", ",-60.0\n")), 22, "SBASE1-2 is not positive"),
    "corrections of impedance": (("1.1,0.9,33,0,0.0,0.0,0.0\n0.98,33.0\n", "1.1,0.9,33,3,0.0,0.0,0.0\n0.98,33.0\n"), 22, "TAB1 names a table"),
    "a DC line": (ending("TWO-TERMINAL DC", "'DC',1,5.0,100.0\n1,2\n3,4"), 33, "a two-terminal DC line is in service"),
    "a VSC line": (ending("VSC DC LINE", "'VSC',1,5.0\n1,2\n3,4"), 34, "a VSC DC line is in service"),
    "a DC network": (ending("MULTI-TERMINAL DC", "'M',2,1,0,1\na\nb\nc"), 36, "a multi-terminal DC line is in service"),
    "a DC network without a length": (ending("MULTI-TERMINAL DC", "'M',x,1,0,1"), 36, "does not say how long it is"),
    "a FACTS device": (ending("FACTS DEVICE", "'F',1,0,1,0.0"), 41, "a FACTS device is in service"),
    "a GNE device": (ending("GNE", "'G','MODEL',1,2"), 44, "a GNE device"),
    "an induction machine": (ending("INDUCTION MACHINE", "2,'1 ',1,1"), 45, "an induction machine is in service"),
    "another section": (("BEGIN GENERATOR DATA", "BEGIN BRANCH DATA"), 15, "the section BRANCH begins where this revision has GENERATOR"),
    "an open quote": (("2,'TWO, A/B    '", "2,'TWO, A/B    "), 5, "a quote is opened and not closed"),
    "a NUL byte": (("2,'TWO", "2,'T\0O"), None, "NUL byte"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_raw(name: str, tmp_path: Path) -> None:
    (old, new), line, words = REFUSED[name]
    text = GOOD
    if name == "CW 2 without a base voltage":
        text = text.replace("1,'ONE         ', 132.0", "1,'ONE         ', 0.0")
    if name == "losses beyond the impedance":
        old, new, line, words = TWO, two(1, 3).replace("150000.0,", "9e9,"), 22, "losses are larger than the impedance"
    assert old in text
    path = tmp_path / "x.raw"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(CaseFileError) as caught:
        read_any(path)
    assert words in caught.value.problem, caught.value
    assert caught.value.line == line, caught.value
    assert caught.value.advice


@pytest.mark.parametrize("name", ["buses", "units", "transformers", "shunts", "a transformer"])
def test_a_truncated_file_is_not_half_read(name: str, tmp_path: Path) -> None:
    cut = {
        "buses": GOOD.index("3,'THREE"),
        "units": GOOD.index("0 / END OF GENERATOR"),
        "transformers": GOOD.index("0 / END OF AREA"),
        "shunts": GOOD.index("0 / END OF SWITCHED"),
        "a transformer": GOOD.index("1.05,132.0"),
    }[name]
    path = tmp_path / "x.raw"
    path.write_text(GOOD[:cut])
    with pytest.raises(CaseFileError, match="the file ends"):
        read_any(path)
    path.write_text(GOOD[: GOOD.index("0 / END OF INDUCTION")])  # the last sections may be left out
    assert len(read_any(path).case.bus) == 5


def test_what_is_out_of_service_is_told_and_left_out(tmp_path: Path) -> None:
    text = GOOD
    for old, new in (
        ending("TWO-TERMINAL DC", "'DC',0,5.0,100.0\n1,2\n3,4"),
        ending("MULTI-TERMINAL DC", "'M',2,1,0,0\na\nb\nc"),
        ending("FACTS DEVICE", "'F',1,0,0,0.0"),
        ending("INDUCTION MACHINE", "2,'1 ',0,1"),
        ending("MULTI-SECTION LINE", "1,4,'&1',1,7"),
        ending("IMPEDANCE CORRECTION", "1,0.9,1.1,1.0,1.0"),
        ("1,-4,'2 '", "1,-4,'@2'"),
    ):
        text = text.replace(old, new)
    path = tmp_path / "x.raw"
    path.write_text(text)
    notes = "; ".join(read_any(path).notes)
    for words in (
        "1 two-terminal DC line out of service", "1 multi-terminal DC line out of", "1 FACTS device out of",
        "1 induction machine out of", "1 line of several sections", "impedance corrections", "1 breaker or switch",
    ):  # fmt: skip
        assert words in notes


def rawx(**changes: Any) -> dict[str, Any]:
    made = convert(import_case("case5"), by_name("rawx")).main
    assert isinstance(made, bytes)
    tables: dict[str, Any] = json.loads(made)
    tables["network"].update(changes)
    return tables


RAWX: dict[str, tuple[dict[str, Any], str]] = {
    "no network": ({"network": None}, "none of PowerModels, EGRET, pandapower and RAWX"),
    "no header": (rawx(caseid=None), "caseid has not one record"),
    "no revision": (rawx(caseid={"fields": ["ic", "sbase"], "data": [0, 100.0]}), "rev is missing or not 35"),
    "a change": (rawx(caseid={"fields": ["ic", "sbase", "rev"], "data": [1, 100.0, 35]}), "no whole case"),
    "no fields": (rawx(load={"data": []}), "the table load has no fields and data"),
    "a table of words": (rawx(load="x"), "the table load has no fields and data"),
    "a field twice": (rawx(load={"fields": ["ibus", "IBUS"], "data": []}), "a field stands twice in the table load"),
    "a long record": (rawx(load={"fields": ["ibus"], "data": [[1, 2]]}), "more values than the table has fields"),
    "a list for a number": (rawx(load={"fields": ["ibus"], "data": [[[1]]]}), "no number and no text"),
    "a truth for a number": (rawx(load={"fields": ["ibus"], "data": [[True]]}), "no number and no text"),
    "text for a number": (rawx(load={"fields": ["ibus", "pl"], "data": [[1, "x"]]}), "pl of load is not a number (record 1 of load)"),
    "a huge integer": (rawx(load={"fields": ["ibus", "pl"], "data": [[1, 10**400]]}), "pl of load is not a number"),
    "a bus nowhere": (rawx(load={"fields": ["ibus"], "data": [[99]]}), "a bus that is not in the bus data (record 1 of load)"),
    "no buses": (rawx(bus={"fields": ["ibus"], "data": []}), "the bus data have no record"),
    "a GNE device": (rawx(gne={"fields": ["name"], "data": [["G"]]}), "a GNE device is in service"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAWX)
def test_refused_rawx(name: str, tmp_path: Path) -> None:
    tables, words = RAWX[name]
    path = tmp_path / ("x.json" if name == "no network" else "x.rawx")
    path.write_text(json.dumps(tables))
    with pytest.raises(CaseFileError) as caught:
        read_any(path)
    assert words in str(caught.value)


CONTENT: dict[str, tuple[str, bytes, str]] = {
    "JSON called RAW": ("x.raw", b'{"network": {}}', "its content is JSON"),
    "RAW called JSON": ("x.json", GOOD.encode(), "its content is a PSS/E RAW file"),
    "MATPOWER called RAW": ("x.raw", b"function mpc = x\nmpc.version = '2';\n", "its content is a MATPOWER case"),
    "RAW called MATPOWER": ("x.m", GOOD.encode(), "its content is a PSS/E RAW file"),
    "an archive called MATPOWER": ("x.m", b"PK\3\4xxx", "its content is a zip archive"),
    "XML called RAW": ("x.raw", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]>", "its content is XML"),
    "HDF5 called .mat": ("x.mat", b"\x89HDF\r\n\x1a\n" + b"\0" * 99, "its content is an HDF5 file"),
    "an unknown extension": ("x.txt", b"hello", "the extension says nothing"),
    "UCTE": ("x.uct", b"##C 2007.05.01", "UCTE files hold too little"),
    "a cost file": ("x.rop", b"0", "ROP"),
    "not JSON": ("x.json", b'{"a": ', "this is not JSON"),
    "not an object": ("x.rawx", b"{}]", "this is not JSON"),
    "a key twice": ("x.rawx", b'{"network": {}, "network": {}}', "a key stands twice"),
    "a nest": ("x.json", b'{"a":' + b"[" * 100_000, "nests deeper"),
    "many digits": ("x.json", b'{"a":' + b"1" * 5000 + b"}", "too many digits"),
    "another encoding": ("x.json", '{"a": "é"}'.encode("latin-1"), "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTENT)
def test_files_that_are_not_what_they_are_called(name: str, tmp_path: Path) -> None:
    file, data, words = CONTENT[name]
    path = tmp_path / file
    path.write_bytes(data)
    with pytest.raises(CaseFileError) as caught:
        read_any(path)
    assert words in str(caught.value)


def test_the_format_that_is_named_goes_before_the_extension(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD)
    assert len(read_any(path, "psse33").case.bus) == 5
    assert len(read_any(path).case.bus) == 5  # and an extension that says nothing leaves it to the content
    with pytest.raises(GridVeilError, match="there is no format 'psse'; the formats are m, psse33"):
        read_any(path, "psse")
    with pytest.raises(CaseFileError, match="should be a MATPOWER case, and its content is a PSS/E RAW file"):
        read_any(path, "m")
    with pytest.raises(CaseFileError, match="this is a folder, and PSS/E RAW 33 is one file"):
        read_any(tmp_path, "psse33")


def archive(names: list[str], **how: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name in names:
            made.writestr(name, how.get("content", b"x"), how.get("compress", zipfile.ZIP_STORED))
    return stream.getvalue()


@pytest.mark.parametrize("name", ["../buses.csv", "/etc/buses.csv", "a/../../b.csv", "a\\b.csv", "C:x.csv"])
def test_archives_with_paths_that_climb(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(archive(["buses.csv", name]).replace(b"a/b.csv", b"a\\b.csv"))
    with pytest.raises(CaseFileError, match="a path that leads out of it"):
        read_any(path)


def test_archives_that_swell_or_are_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.zip"
    good = archive(["buses.csv"])
    for data, words in (
        (good[:-9], "not a zip archive"),
        (archive([f"{k}.csv" for k in range(1001)]), "more than 1000 files"),
        (archive(["buses.csv", "pypsa/buses.csv"]), ""),
    ):
        path.write_bytes(data)
        if words:
            with pytest.raises(CaseFileError, match=words):
                read_any(path)
    monkeypatch.setenv("GRIDVEIL_MAX_SIZE", "1")
    path.write_bytes(archive(["buses.csv"], content=b"0" * 2_000_000, compress=zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 10_000
    with pytest.raises(CaseFileError, match="more than the 1 MB that are read"):
        read_any(path)


def test_no_message_shows_a_value(tmp_path: Path) -> None:
    """As of `.m` files: wherever a cell is wrong, what stands there is not shown."""
    secret, said = "271828", set()
    cells = [LINES.splitlines()[0].split(","), UNITS.splitlines()[0].split(","), LOADS.splitlines()[0].split(",")]
    path = tmp_path / "x.raw"
    for row in cells:
        for place in range(len(row)):
            for wrong in (secret, f"-{secret}", f"0.{secret}x", f"'{secret}", f"{secret}e999", f"{secret} {secret}"):
                bent = ",".join([*row[:place], wrong, *row[place + 1 :]])
                path.write_text(GOOD.replace(",".join(row), bent))
                try:
                    read_any(path)
                except CaseFileError as error:
                    assert secret not in str(error)
                    said.add(error.problem)
    assert len(said) > 20
