"""What must not pass a release from another format, and translations that hold what released.m holds and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.casefile.labels import Labels, labelled
from gridveil.cli.main import app
from gridveil.errors import ReleaseError
from gridveil.formats import raw_transformers
from gridveil.formats.archive import archive_files
from gridveil.formats.compare import differences
from gridveil.formats.find import import_case, named_case
from gridveil.formats.read import read_any
from gridveil.formats.registry import TRANSLATIONS
from gridveil.formats.translate import SMALL, translate
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.translations import chosen, rehearse, translations
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

from .raw_files import BUSES, LINES, LOADS, SHUNTS, UNITS, raw33, three, two

FORMS = ("psse33", "psse35", "rawx")
COSTS = "bus,id,c2,c1,c0\n1,1,0.02,20,0\n4,A,0.05,30,0\n"
BASE = raw33(three(1, 1) + two(2, 1))


def _replaced(*pairs: tuple[str, str]) -> str:
    text = BASE
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


OTHERS = {
    "names": _replaced(("'ONE         '", "'SECRET      '"), ("'T, 1/2      '", "'X'"), ("'STAR        '", "'Y'")),
    "titles": _replaced(("A TITLE / WITH A SLASH", "SECRET"), ("PSS(R)E-33", "SECRET")),
    "owners": _replaced((",1,1.0,0,1.0,0,1.0,0,1.0", ",7,0.4,8,0.6,0,1.0,0,1.0"), (",100.0,120.0,5.0,1,1.0", ",100.0,120.0,5.0,9,1.0")),
    "lengths": _replaced(("-0.004,1,1,0.0,", "-0.004,1,1,123.4,")),
    "areas and zones": _replaced(("132.0,3,1,1,1", "132.0,3,7,8,9"), ("2,'1 ',1,1,1,20.0", "2,'1 ',1,7,8,20.0")),
    "impedances of machines": _replaced((",150.0,0.0,1.0,0.0,0.0,1.0,", ",150.0,0.01,0.3,0.02,0.1,0.97,")),
    "nameplates": _replaced((",1.02,0,150.0,", ",1.02,0,175.0,")),
    "vector groups and second ratings": _replaced(("'YNyn0       '", "'Dyn11       '"), ("0.04,100.0,0.0,0.0", "0.04,100.0,88.0,99.0")),
    "rows out of service": _replaced(
        (BUSES, BUSES + "9,'GONE',132.0,4,1,1,1,1.0,0.0,1.1,0.9,1.1,0.9\n"),
        (LOADS, LOADS + "9,'1 ',1,1,1,5.0,5.0,0,0,0,0,1,1,0\n2,'9 ',0,1,1,5.0,5.0,0,0,0,0,1,1,0\n"),
        (SHUNTS, SHUNTS + "1,'9 ',0,5.0,5.0\n"),
        (UNITS, UNITS + "9,'1 ',0,0,1,-1,1.0,0,100.0,0,1,0,0,1,1,100,9,0,1,1.0\n"),
        (LINES, LINES + "1,2,'9 ',0.5,0.5,0,0,0,0,0,0,0,0,0,1,0,1,1.0\n1,9,'1 ',0.5,0.5\n"),
        (two(2, 1), three(2, 2, 0, "0") + two(2, 1) + two(1, 3, stat=0).replace("1,2,0,'1 '", "1,2,0,'8 '")),
    ),
    "a bus out of service where the star stands": _replaced(
        (BUSES, BUSES + "11,'GONE',132.0,4,1,1,1,1.0,0.0,1.1,0.9,1.1,0.9\n"),
        (LINES, LINES + "1,11,'1 ',0.5,0.5\n"),
    ),
    "the solved state": _replaced(
        ("1,1,1,1.02,0.0,", "1,1,1,1.0371,-4.5,"), ("1,'1 ',40.0,0.0,", "1,'1 ',33.3,7.7,"), ("60.0,-50.0,1.02,", "60.0,-50.0,1.05,"),
        ("1.01,-2.0", "0.97,-9.0"),
    ),
}  # fmt: skip
"""Files that say the same network otherwise."""


def outputs(text: str, folder: Path) -> dict[str, bytes]:
    """All files of a release of a RAW file, with the same noise."""
    path = folder / "x.raw"
    path.write_text(text)
    path.with_suffix(".costs.csv").write_text(COSTS)
    network = split(named_case(import_case(path)))
    made = release(network, gv.Plan(1.0, 0.1, 0.05), noise=SeededNoise(3), workshop=Workshop)
    return made.files() | translate(made.text.encode(), FORMS)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return outputs(BASE, tmp_path_factory.mktemp("base"))


@pytest.mark.parametrize("name", OTHERS)
def test_inputs_that_differ_in_nothing_that_passes(name: str, expected: dict[str, bytes], tmp_path: Path) -> None:
    assert OTHERS[name] != BASE
    assert outputs(OTHERS[name], tmp_path) == expected
    assert len(expected) == 3 + len(FORMS) + 1
    assert not any(b"SECRET" in data or b"GONE" in data for data in expected.values())


def test_the_test_notices_a_leak(expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: star buses that are numbered above all buses, those out of service too."""
    monkeypatch.setattr(
        raw_transformers, "_free_numbers",
        lambda network, count: [int(network.number.max()) + 1 + at for at in range(count)],
    )  # fmt: skip
    one, other = outputs(BASE, tmp_path), outputs(OTHERS["rows out of service"], tmp_path)
    assert one["released.m"] != other["released.m"]


def test_ids_pass_on_request_only(tmp_path: Path, expected: dict[str, bytes]) -> None:
    """They are in released.m then, so that translations have them from there; and the manifest says so."""
    path = tmp_path / "x.raw"
    path.write_text(BASE)
    path.with_suffix(".costs.csv").write_text(COSTS)
    network = split(named_case(import_case(path)))
    plan = gv.Plan(1.0, 0.1, 0.05, keep_names=True, keep_ids=True)
    made = release(network, plan, noise=SeededNoise(3), workshop=Workshop)
    assert "'A';" in made.text and "mpc.gen_id" in made.text and "'TWO, A/B'" in made.text
    assert b"gen_id" not in expected["released.m"] and b"'A'" not in expected["released.psse33.raw"]
    files = translate(made.text.encode(), ("psse33",))
    assert b"\n4,'A'," in files["released.psse33.raw"] and b"'TWO, A/B'" in files["released.psse33.raw"]
    record = json.loads(made.files()["manifest.json"])
    assert record["ids_kept"] is True and record["format"] == "gridveil-release-7"
    assert "bus names and ids of branches and units kept on request" in record["scrubbed"][0]
    made.write(tmp_path / "out", extra=files)
    verdict = gv.verify(tmp_path / "out")
    assert [one.kind for one in verdict.checks if not one.passed] == []
    # who says that ids were not kept, or changes one of them, is found out
    for old, new in (("'A';", "'B';"), ("mpc.gen_id", "mpc.gen_ip")):
        text = (tmp_path / "out" / "released.m").read_text()
        (tmp_path / "out" / "released.m").write_text(text.replace(old, new))
        assert [one.kind for one in gv.verify(tmp_path / "out").checks if not one.passed]
        (tmp_path / "out" / "released.m").write_text(text)


@pytest.mark.parametrize(
    ("plan", "names", "words"),
    [
        ({"keep_names": True}, None, "names are to be kept, and the network has none"),
        ({"keep_ids": True}, None, "ids are to be kept, and the network has none"),
        ({"keep_names": True}, "a\u200bb", "one of the names has an unseen character"),
        ({"keep_names": True}, 101 * "a", "more than 100 letters"),
    ],
)
def test_labels_that_cannot_be_kept(plan: dict[str, Any], names: str | None, words: str) -> None:
    """Before anything is charged."""
    case = gv.read_case("case5")
    case = case if names is None else labelled(case, Labels(bus_name=(names,) * 5))
    with pytest.raises(ReleaseError, match=words):
        release(split(case), gv.Plan(1.0, 0.1, 0.05, **plan), noise=SeededNoise(3), workshop=Workshop)


def test_translations_in_a_process_of_their_own(expected: dict[str, bytes]) -> None:
    """The same bytes as here; and only the bytes of a network go in."""
    made = translations(expected["released.m"], FORMS)
    assert made == {
        name: data for name, data in expected.items() if name in (*TRANSLATIONS.values(), "released.costs.csv")
    }
    with pytest.raises(ReleaseError, match=r"was not translated: released\.m: there is no mpc\.version"):
        translations(b"mpc.x = 1;", FORMS)
    with pytest.raises(ReleaseError, match="there is no format 'x'"):
        translations(SMALL, ("x",))
    assert translations(SMALL, ()) == {}
    rehearse(FORMS)


def test_formats_of_a_release() -> None:
    assert chosen("rawx, psse33") == ("psse33", "rawx") and chosen(None) == ()
    with pytest.raises(ReleaseError, match="not written as 'cgmes'; --to takes psse33, psse35, rawx"):
        chosen("psse33,cgmes")


def test_a_translation_that_is_not_the_network_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a writer that loses a digit."""
    from gridveil.formats import raw_write

    monkeypatch.setattr(raw_write, "number_text", lambda value: f"{value:.6g}")
    small = SMALL.replace(b"0.01 0.1 0.02", b"0.0123456789 0.1 0.02")
    with pytest.raises(gv.GridVeilError, match="does not hold this network: r of branch 1/3/1 differs"):
        translate(small, ("psse33",))


def test_the_command(tmp_path: Path) -> None:
    run = CliRunner()
    path, out = tmp_path / "x.raw", tmp_path / "out"
    path.write_text(BASE)
    common = ["release", str(path), "--research", "--seed", "3", "--beta", "0.05", "--out", str(out), "--json"]
    refused = run.invoke(app, common)
    assert refused.exit_code == 2 and "none of the 2 units in service has a cost" in refused.output
    costs = tmp_path / "money.csv"
    costs.write_text("bus,id,c2,c1,c0\n1,1,0.02,20,0\n")
    refused = run.invoke(app, [*common, "--costs", str(costs)])
    assert refused.exit_code == 2 and "there is no cost of 1 unit in service (bus/id: 4/A)" in refused.output
    refused = run.invoke(app, [*common, "--to", "cgmes"])
    assert refused.exit_code == 2 and "--to takes" in refused.output
    refused = run.invoke(app, [*common, "--keep", "all"])
    assert refused.exit_code == 2 and "give names, ids or names,ids" in refused.output
    made = run.invoke(
        app, [*common, "--costs", str(costs), "--missing-cost", "30", "--to", "psse35,rawx", "--keep", "names"]
    )
    assert made.exit_code == 0, made.output
    record = json.loads((out / "manifest.json").read_text())
    assert record["invented_cost"] == 30 and record["format"] == "gridveil-release-7"
    assert set(record["sha256"]) >= {"released.psse35.raw", "released.rawx", "released.costs.csv"}
    checked = run.invoke(app, ["verify", str(out), "--json"])
    assert checked.exit_code == 7, checked.output
    assert json.loads(checked.stdout)["word"]["prices"].startswith("invented in part: 30 per MWh")
    # with the costs beside it the RAW file is the released network
    one, other = read_any(out / "released.psse35.raw"), read_any(out / "released.m")
    assert not any("cost" in words for words in differences(one, other))
    assert gv.solve_opf(gv.load(one.case)).cost == pytest.approx(gv.solve_opf(gv.load(other.case)).cost, rel=1e-9)
    # a translation that was changed is found, even with the digest of what it is now
    text = (out / "released.rawx").read_text()
    (out / "released.rawx").write_text(re.sub(r'"TWO, A/B"', '"TWO, A/C"', text))
    import hashlib

    record["sha256"]["released.rawx"] = hashlib.sha256((out / "released.rawx").read_bytes()).hexdigest()
    (out / "manifest.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert [one.kind for one in gv.verify(out).checks if not one.passed] == ["translated"]


def test_a_zipped_bundle_with_translations(tmp_path: Path) -> None:
    made = release(split(gv.read_case("case5")), gv.Plan(1.0, 0.1, 0.05), noise=SeededNoise(3), workshop=Workshop)
    made.write(tmp_path / "x.zip", extra=translations(made.text.encode(), ("psse33",)))
    assert "released.limits.csv" in archive_files(tmp_path / "x.zip", (tmp_path / "x.zip").read_bytes())
    assert all(one.passed for one in gv.verify(tmp_path / "x.zip").checks)
    with pytest.raises(ReleaseError, match="cannot be added to a bundle"):
        made.write(tmp_path / "y", extra={"released.sav": b""})
