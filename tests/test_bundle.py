"""Bundles on disk: one .zip, golden ones of every format, schemas, the page of fields, and whatever a stranger sends."""

from __future__ import annotations

import io
import json
import random
import shutil
import stat
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil import packing
from gridveil.cli.main import app
from gridveil.errors import GridVeilError, OtherFormat, ReleaseError
from gridveil.privacy.signature import create_key, read_private_key
from gridveil.publish import archive, bundle
from gridveil.publish.archive import read_bundle
from gridveil.publish.manifest import FORMAT, schema
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release
from gridveil.repair.workshop import Workshop
from gridveil.report.public import public_report
from gridveil.sealed.split import split
from gridveil.wall.certificate import schema as certificate_schema
from tests.conftest import PretendExact
from tests.forging import digests_fit, written

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"
pytest.importorskip("jinja2", reason="the page of a bundle needs the extra 'verify'")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    book = gv.Ledger.open(tmp_path_factory.mktemp("ledger") / "l.db")
    plan, profile = gv.Plan(1.0, 0.1, 0.05, steps=2, cost="declared"), gv.make_profile("case5", 3)
    return release(split(gv.load("case5")), plan, book, PretendExact(3), workshop=Workshop, profile=profile)


@pytest.fixture(scope="module")
def page(made: Release) -> dict[str, str]:
    return {"report.html": public_report(made)}


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


# ---- golden bundles ----


@pytest.mark.parametrize(
    ("folder", "name"),
    [(one, path) for one in sorted(GOLDEN.iterdir()) for path in sorted(one.iterdir()) if path.suffix != ".pub"],
    ids=lambda path: path.name,
)
def test_golden_bundles(folder: Path, name: Path) -> None:
    """Whatever was once published is read and found the same, for ever; the page byte for byte."""
    options = ["--publisher", str(folder / "golden.pub")] if name.name in ("signed", "archive.zip") else []
    record = json.loads(run("verify", name, "--json", *options).stdout)
    assert record["manifest"]["format"] == folder.name and record["not_checked"] == []
    assert record["signature"]["state"] == ("named" if options else "unsigned")
    kinds = {one["kind"] for one in record["recomputed"]}
    assert ("report" in kinds) is (name.name in ("archive.zip", "horizon", "page"))
    assert ("losses" in kinds) is (name.name == "horizon") and len(record["unused_steps"]) == (name.name == "horizon")


def test_the_format_of_today_has_golden_bundles() -> None:
    assert {path.name for path in (GOLDEN / FORMAT).iterdir()} == {
        "plain", "signed", "horizon", "archive.zip", "golden.pub",
    }  # fmt: skip


def test_golden_bundles_can_fail(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOLDEN / FORMAT / "horizon", tmp_path / "copy"))
    page = folder / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("the promise holds", "the promise stands", 1), "utf-8")
    digests_fit(folder)
    assert [one.kind for one in gv.verify(folder).checks if not one.passed] == ["report"]


# ---- schemas and the page of fields ----


@pytest.mark.parametrize(("name", "made_now"), [("manifest", schema()), ("certificate", certificate_schema())])
def test_the_schemas_in_the_package_are_those_of_the_types(name: str, made_now: dict[str, Any]) -> None:
    path = ROOT / "src" / "gridveil" / "schemas" / f"{FORMAT}.{name}.json"
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(made_now)), (
        "run scripts/make_schemas.py"
    )


def test_every_field_is_explained() -> None:
    """Each type has its section, with a row for each of its fields and for no other."""
    text = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8")
    types = {**schema()["$defs"], **certificate_schema()["$defs"]}
    checked = 0
    for name, one in types.items():
        if fields := list(one.get("properties", {})):
            section = text.split(f"\n### {name}\n")[1].split("\n#")[0]
            rows = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
            assert rows == fields, name
            checked += 1
    assert checked == 19
    for name in bundle.FILES:
        assert f"`{name}`" in text
    assert FORMAT in text


def test_the_manifest_has_the_head_at_the_first_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is asked for on 5 buses, and charged second."""
    charge, heads = gv.Ledger.charge, iter(["a" * 64, "b" * 64])

    def charged(*arguments: Any, **options: Any) -> Any:
        return replace(charge(*arguments, **options), head=next(heads))

    monkeypatch.setattr(gv.Ledger, "charge", charged)
    book = gv.Ledger.open(tmp_path / "l.db")
    made = release(split(gv.load("case5")), gv.Plan(1.0, 0.1, 0.01), book, PretendExact(3), workshop=Workshop)
    assert made.manifest.privacy.ledger_entries == [3, 5] and made.manifest.privacy.ledger_head == "a" * 64
    verdict = gv.verify(made.write(tmp_path / "out"))
    assert verdict.passed and verdict.word["ledger"] == "entries 3, 5, head aaaaaaaaaaaaaaaa…"


# ---- one file ----


def test_a_bundle_may_be_one_file(made: Release, page: dict[str, str], tmp_path: Path) -> None:
    create_key(tmp_path / "k")
    key = read_private_key(tmp_path / "k")
    folder, one = made.write(tmp_path / "out", sign=key, extra=page), tmp_path / "out.zip"
    made.write(one, sign=key, extra=page)
    assert read_bundle(one).files == read_bundle(folder).files
    assert gv.verify(one) == gv.verify(folder)
    before = one.read_bytes()
    with pytest.raises(ReleaseError, match="--force"):
        made.write(one)
    made.write(one, sign=key, extra=page, force=True)
    assert one.read_bytes() == before  # the same files, the same archive
    with zipfile.ZipFile(one) as packed:
        assert packed.testzip() is None and {info.date_time[0] for info in packed.infolist()} == {1980}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_force_replaces_archives_of_releases_only(made: Release, tmp_path: Path) -> None:
    target = tmp_path / "thesis.zip"
    for content in (b"years of work", _zip({"thesis.tex": b"years of work"})):
        target.write_bytes(content)
        with pytest.raises(ReleaseError, match="--force would delete"):
            made.write(target, force=True)
        assert target.read_bytes() == content


def test_the_command_reads_archives(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out.ZIP"
    run("release", "case5", "--ledger", tmp_path / "l.db", "--out", target, "--cost", "declared", "--report")
    assert json.loads(run("verify", target, "--json").stdout)["status"] == "verified"
    compared = json.loads(run("verify", target, "--against", "case5", "--json").stdout)
    assert len(compared["steps"]) == 1
    run("leakcheck", "case5", target, code=5)


def _zip(files: Mapping[str, bytes], change: Callable[[zipfile.ZipInfo], None] | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr, info.create_system = (stat.S_IFREG | 0o644) << 16, 3
            if change is not None:
                change(info)
            packed.writestr(info, data)
    return stream.getvalue()


def _rejected(path: Path, words: str) -> None:
    """In words, by exit 2 where there is no bundle, by 5 where there is a bad one."""
    result = CliRunner().invoke(app, ["verify", str(path), "--json"])
    assert result.exit_code in (2, 5), result.output
    assert words in result.stdout, result.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../released.m", "is no file of a bundle"),
        ("/etc/passwd", "is no file of a bundle"),
        ("out/released.m", "is no file of a bundle"),
        ("README.exe", "is no file of a bundle"),
        ("released.m\x00.txt", "is no file of a bundle"),
        ("more/", "is no file of a bundle"),
        ("Released.m", "is no file of a bundle"),
    ],
)
def test_archives_with_other_names(made: Release, tmp_path: Path, name: str, words: str) -> None:
    target = made.write(tmp_path / "out.zip")
    files = dict(read_bundle(target).files)
    data = _zip({**files, name.replace("\0", "?"): b"x"})
    target.write_bytes(data.replace(name.replace("\0", "?").encode(), name.encode()))
    _rejected(target, words)
    assert [path.name for path in tmp_path.iterdir()] == ["out.zip"]


def test_the_one_form_is_that_of_every_library(made: Release, tmp_path: Path) -> None:
    """What Python's own library writes of the same files, in order and with the same attributes."""
    target = made.write(tmp_path / "out.zip")
    files = read_bundle(target).files
    assert target.read_bytes() == _zip({name: files[name] for name in sorted(files)})


def _changed(change: Callable[[zipfile.ZipInfo], None]) -> Callable[[Mapping[str, bytes]], bytes]:
    return lambda files: _zip({name: files[name] for name in sorted(files)}, change)


def _hidden(files: Mapping[str, bytes]) -> bytes:
    """Other files between those of the directory, where only tools that read from the front see them."""
    result, listed = b"", b""
    for name in sorted(files):
        one = packing.packed({name: files[name]})
        body, entry = one[: one.index(b"PK\1\2")], one[one.index(b"PK\1\2") : -22]
        listed += entry[: -len(name) - 4] + struct.pack("<L", len(result)) + name.encode()
        other = packing.packed({"released.m": b"% another network"})
        result += body + (other[: other.index(b"PK\1\2")] if name == "released.m" else b"")
    return (
        result + listed + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, len(files), len(files), len(listed), len(result), 0)
    )


def _after_the_stream(files: Mapping[str, bytes]) -> bytes:
    """Deflated, with more after the end of the stream, within the size that the directory states."""
    result, listed = b"", b""
    for name in sorted(files):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        data, title = files[name], name.encode()
        body = deflate.compress(data) + deflate.flush() + b"the true x of line 3 is 0.05917"
        about = struct.pack("<5H3L2H", 20, 0, 8, 0, 33, zlib.crc32(data), len(body), len(data), len(title), 0)
        listed += b"PK\1\2\x14\3" + about + struct.pack("<3H2L", 0, 0, 0, 0o100644 << 16, len(result)) + title
        result += b"PK\3\4" + about + title + body
    return (
        result + listed + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, len(files), len(files), len(listed), len(result), 0)
    )


def _local(place: int, value: bytes) -> Callable[[Mapping[str, bytes]], bytes]:
    """The first file's own header says otherwise than the directory does."""

    def bent(files: Mapping[str, bytes]) -> bytes:
        data = packing.packed(files)
        return data[:place] + value + data[place + len(value) :]

    return bent


FORMS: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {
    "deflated": _changed(lambda info: setattr(info, "compress_type", zipfile.ZIP_DEFLATED)),
    "after the stream": _after_the_stream,
    "hidden": _hidden,
    "order": lambda files: _zip(dict(sorted(files.items(), reverse=True))),
    "time": _changed(lambda info: setattr(info, "date_time", (2026, 1, 2, 3, 4, 6))),
    "mode": _changed(lambda info: setattr(info, "external_attr", 0o106777 << 16)),
    "link": _changed(lambda info: setattr(info, "external_attr", (stat.S_IFLNK | 0o777) << 16)),
    "attribute": _changed(lambda info: setattr(info, "internal_attr", 0x4141)),
    "comment": _changed(lambda info: setattr(info, "comment", b"the true x of line 3 is 0.05917")),
    "system": _changed(lambda info: setattr(info, "create_system", 0)),
    "local time": _local(10, b"AB"),
    "local digest": _local(14, b"ABCD"),
    "local size": _local(18, b"ABCD"),
    "front": lambda files: b"MZ" + packing.packed(files),
    "end": lambda files: packing.packed(files) + b"\0",
}


@pytest.mark.parametrize("form", FORMS)
def test_archives_in_another_form(made: Release, tmp_path: Path, form: str) -> None:
    """The same files, and something beside them that nobody reads."""
    target = made.write(tmp_path / "out.zip")
    assert gv.verify(target, quick=True).passed
    target.write_bytes(FORMS[form](read_bundle(target).files))
    _rejected(target, "verify the directory" if form in ("hidden", "order", "time", "deflated") else "")


def test_archives_with_a_file_twice(made: Release, tmp_path: Path) -> None:
    target = made.write(tmp_path / "out.zip")
    files = read_bundle(target).files
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(target, "w") as packed:
        for name in (*files, "released.m"):
            packed.writestr(zipfile.ZipInfo(name), files[name])
    _rejected(target, "is there twice")


def test_bombs(made: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is ever unpacked to more than is there."""
    target = made.write(tmp_path / "out.zip")
    files = read_bundle(target).files
    target.write_bytes(FORMS["deflated"]({**files, "report.html": b" " * (30 << 20)}))
    assert target.stat().st_size < 100_000
    _rejected(target, "packed as no release packs")
    data = bytearray(packing.packed(files))
    at = data.rindex(b"PK\1\2")
    data[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2  # the central directory says two gigabytes
    target.write_bytes(bytes(data))
    _rejected(target, "more than any release")
    folder = made.write(tmp_path / "out")
    monkeypatch.setattr(archive, "LARGEST_FILE", 100)
    _rejected(folder, "more than any release")
    monkeypatch.setattr(archive, "LARGEST_TEXT", 100)
    _rejected(folder, "is missing")
    monkeypatch.setattr(archive, "LARGEST_ARCHIVE", 100)
    _rejected(target, "larger than any release")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"x" * 100])
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    run("verify", tmp_path / "x.zip", code=2)


def _directory(count: int, *, stated: int | None = None, larger: bool = False) -> bytes:
    """A .zip that lists members it does not have, and may hide how many."""
    one = b"PK\1\2" + struct.pack("<HHHHHHLLLHHHHHLL", 20, 20, 0, 0, 0, 33, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0)
    listed = b"".join(one + b"%06d" % number for number in range(count))
    more = b"PK\6\6" + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, count, count, len(listed), 0)
    more += b"PK\6\7" + struct.pack("<LQL", 0, len(listed), 1)
    shown = count if stated is None else stated
    size = 52 * shown if larger else len(listed)
    return listed + (more if larger else b"") + b"PK\5\6" + struct.pack("<HHHHLLH", 0, 0, shown, shown, size, 0, 0)


@pytest.mark.parametrize(
    "data",
    [_directory(len(bundle.FILES) + 1), _directory(30_000), _directory(30_000, stated=3), _directory(30_000, stated=3, larger=True),
     _directory(30_000)[:-2] + b"\3\0abc"],
    ids=["one more", "many", "unsaid", "in a second record", "with a comment"],
)  # fmt: skip
def test_lists_of_members_are_not_read_whole(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile.ZipFile, "__init__", lambda *_: pytest.fail("read"))
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(ReleaseError, match="more than the files of a release"):
        read_bundle(tmp_path / "x.zip")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "nowhere", "x" * 5000])
def test_what_is_no_bundle(path: str) -> None:
    assert "error" in run("verify", path, code=2).stderr


# ---- what a stranger may send ----

VALUES: list[Any] = [
    None, True, 0, -1, 2**53, 2**63, 10**30, 1e308, -1e308, 1e-320, "", "x", "é" * 50, [], {}, [[]], {"a": 1}, "0" * 64,
    "2026-13-01", "log", "paper", 0.5, -0.0,
]  # fmt: skip
PLANTED = [
    b"[" * 5000,
    b'{"a":' * 3000,
    b"\xff\xfe",
    b"\0",
    b"1e999",
    b"NaN",
    b"9" * 400,
    b"\xed\xa0\x80",
    b'"attended": true,',
]


def _places(record: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    return [one for key, value in pairs for one in [(*place, key), *_places(value, (*place, key))]]


def _bent(chance: random.Random, data: bytes) -> bytes:
    """Bytes changed, cut or planted."""
    result = bytearray(data)
    for _ in range(chance.choice([1, 3, 20])):
        at = chance.randrange(len(result) + 1)
        how = chance.random()
        if how < 0.6 and result:
            result[min(at, len(result) - 1)] = chance.randrange(256)
        elif how < 0.8:
            del result[at:]
        else:
            result[at:at] = chance.choice(PLANTED)
    return bytes(result)


def _set(chance: random.Random, data: bytes) -> str:
    """JSON with a value of another kind or size somewhere."""
    record = json.loads(data)
    *way, last = chance.choice(_places(record))
    holder = record
    for key in way:
        holder = holder[key]
    old = holder[last]
    number = isinstance(old, int | float) and not isinstance(old, bool) and chance.random() < 0.4
    holder[last] = chance.choice([old * 2, -old, old + 1, old * 1e9] if number else VALUES)
    return written(record)


def test_fuzzed_bundles_end_in_words(made: Release, page: dict[str, str], tmp_path: Path) -> None:
    """400 bundles, seeded: a verdict or a sentence, never another exception, and none that differs is verified."""
    chance, good = random.Random(13), made.write(tmp_path / "good", extra=page)
    files, packed = read_bundle(good).files, made.write(tmp_path / "good.zip", extra=page).read_bytes()
    record = gv.verify(good, quick=True).record
    ends = {"rejected": 0, "refused": 0, "same": 0}
    for number in range(400):
        target = tmp_path / f"{number}.zip"
        if number % 4 == 0:
            target.write_bytes(_bent(chance, packed))
        else:
            target = tmp_path / str(number)
            shutil.copytree(good, target)
            name = chance.choice(["manifest.json", "certificate.json"] if number % 4 < 3 else sorted(files))
            if number % 4 < 3:
                (target / name).write_text(_set(chance, files[name]), encoding="utf-8")
            else:
                (target / name).write_bytes(_bent(chance, files[name]))
            if name != "manifest.json":
                digests_fit(target)
        try:
            verdict = gv.verify(target, quick=number % 8 != 1)
            assert verdict.sentence and verdict.signature.words and (verdict.word or not verdict.passed)
            same = read_bundle(target).files == files and (target.suffix != ".zip" or target.read_bytes() == packed)
            assert not verdict.passed or same or verdict.record != record  # another word, and a word only
            ends["same" if verdict.passed else "rejected"] += 1
        except GridVeilError:
            ends["refused"] += 1
    assert ends["rejected"] > 200 and ends["refused"] > 50 and ends["same"] < 40, ends


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"[]", b"{}", b'{"format": 5}', b'{"format": "gridveil-release-5"}', b"\xff", b"[" * 100_000,
        b'{"a":' * 100_000, b'{"format": "gridveil-release-5", "format": "gridveil-release-5"}', b'{"format": "\xed\xa0\x80"}',
    ],
)  # fmt: skip
def test_manifests_that_cannot_be_read(tmp_path: Path, made: Release, text: bytes) -> None:
    target = made.write(tmp_path / "out")
    (target / "manifest.json").write_bytes(text)
    record = json.loads(run("verify", target, "--json", code=5).stdout)
    assert [one["kind"] for one in record["recomputed"]] == ["manifest"]


def test_formats_say_who_reads_them(tmp_path: Path, made: Release) -> None:
    target = made.write(tmp_path / "out")
    (target / "manifest.json").write_text('{"format": "gridveil-release-9", "more": [1, 2]}')
    with pytest.raises(OtherFormat, match="install the newest"):
        gv.verify(target)
    (target / "manifest.json").write_text('{"format": "gridveil-release-9", "software": {"gridveil": "\\u001b[31m"}}')
    with pytest.raises(OtherFormat, match="install the newest"):
        gv.verify(target)


# ---- a small installation ----

SMALL = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "casadi", "opendp", "clarabel", "pyarrow", "matplotlib", "dask", "distributed", "plotly"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from gridveil.cli.verify import main
sys.argv = ["gridveil-verify", *sys.argv[1:]]
main()
"""


def test_a_small_installation_is_enough(tmp_path: Path) -> None:
    """Without SciPy, solver or sampler: --quick works, the whole check says that it needs the solver alone."""
    target = GOLDEN / FORMAT / "horizon"
    quick = subprocess.run(
        [sys.executable, "-c", SMALL, "--quick", "--json", str(target)], capture_output=True, check=False
    )
    assert quick.returncode == 0, quick.stderr
    assert {"report", "values", "balance"} <= {one["kind"] for one in json.loads(quick.stdout)["recomputed"]}
    whole = subprocess.run([sys.executable, "-c", SMALL, str(target)], capture_output=True, check=False)
    assert whole.returncode == 2 and b"'casadi'" in whole.stderr and b"--quick" in whole.stderr


def test_large_tables_are_read_without_scipy(tmp_path: Path) -> None:
    """By a slower way, to the same numbers."""
    code = SMALL.split("from gridveil", maxsplit=1)[0] + (
        "import hashlib, gridveil.cases\nfrom gridveil.casefile import read\n"
        "case = read(gridveil.cases.path('case118_ieee'))\n"
        "print(hashlib.sha256(b''.join(t.tobytes() for t in (case.bus, case.gen, case.branch, case.gencost))).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    case = gv.read_case("case118_ieee")
    import hashlib

    tables = b"".join(table.tobytes() for table in (case.bus, case.gen, case.branch, case.gencost))
    assert done.stdout.strip() == hashlib.sha256(tables).hexdigest(), done.stderr


def test_the_compressed_bytes_are_only_a_container(made: Release, tmp_path: Path) -> None:
    """Another zlib packs otherwise; the files inside count."""
    target = made.write(tmp_path / "out.zip")
    files = dict(read_bundle(target).files)

    def stored(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_STORED

    target.write_bytes(_zip(files, stored))
    assert gv.verify(target, quick=True).passed and zlib.ZLIB_VERSION
