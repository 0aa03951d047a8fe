"""Pages in a real browser, with real keys, clicks and downloads: tables of study reports, dark paper, large maps."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from gridveil.report.html import write_report
from gridveil.report.maps.colourings import by_voltage
from gridveil.report.maps.html import map_block, map_script, map_style
from gridveil.report.maps.picture import Picture
from gridveil.study.catalogue import STUDIES
from tests.chromium import Chromium
from tests.fake_results import fill

pytest.importorskip("plotly", reason="reports need the extra 'report'")
if not any(shutil.which(one) for one in ("chromium", "chromium-browser", "google-chrome")):
    pytest.skip("Chromium is not installed", allow_module_level=True)

KEYS = {"Enter": (13, "\r"), " ": (32, " ")}
WAIT = "new Promise((seen) => setTimeout(seen, %d))"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("studies")
    for name in ("costs", "resistances"):
        fill(home / "r", STUDIES[name], draws=2)
    return write_report(home / "r", home / "r.html")


@pytest.fixture(scope="module")
def started() -> Iterator[Chromium]:
    with Chromium(size=(1200, 900)) as one:
        yield one


@pytest.fixture
def browser(started: Chromium) -> Chromium:
    """One browser for all tests, as if it were new."""
    started.ask("Emulation.clearDeviceMetricsOverride")
    started.ask("Emulation.setEmulatedMedia", media="", features=[])
    return started


def press(browser: Chromium, key: str) -> None:
    code, text = KEYS[key]
    for kind in ("keyDown", "keyUp"):
        more = {"text": text} if kind == "keyDown" else {}
        browser.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)


def click(browser: Chromium, element: str) -> None:
    """A click on the middle of an element, when the page around it has come to rest.

    Figures may be drawn between looking and pressing, and push the element away: what has not arrived is done again.
    """
    browser.run(f"{element}.addEventListener('click', () => {{ document.arrived = true; }}, {{ capture: true }})")
    browser.run("document.arrived = false")
    end = monotonic() + 60
    while not browser.run("document.arrived"):
        assert monotonic() < end, f"no click arrives at {element}"
        x, y = at_rest(browser, element)
        for kind in ("mousePressed", "mouseReleased"):
            browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        browser.run(WAIT % 100)


def at_rest(browser: Chromium, element: str) -> list[float]:
    """Where the middle of an element is, when it has been there for three frames and nothing covers it."""
    found: list[float] = browser.run(
        f"""(async () => {{
          const frame = () => new Promise(requestAnimationFrame);
          const middle = () => {{ const at = {element}.getBoundingClientRect(); return [at.left + at.width / 2, at.top + at.height / 2]; }};
          for (let before = "", still = 0; still < 3; ) {{
            {element}.scrollIntoView({{ block: "center", behavior: "instant" }});
            await frame();
            const now = middle(), there = {element}.contains(document.elementFromPoint(...now));
            still = there && String(now) === before ? still + 1 : 0;
            before = String(now);
          }}
          return middle();
        }})()"""
    )
    return found


def becomes(browser: Chromium, expression: str, value: object) -> None:
    """A key or a click is handled a little after it is sent."""
    end = monotonic() + 20
    while browser.run(expression) != value and monotonic() < end:
        sleep(0.02)
    assert browser.run(expression) == value


def opened(browser: Chromium, page: Path) -> None:
    browser.open(page)
    end = monotonic() + 60
    while browser.run("document.body.dataset.drawn") is None and monotonic() < end:
        sleep(0.05)


TABLE = "document.querySelector('#costs table[data-file]')"
HEADS = f"[...{TABLE}.tHead.rows[0].cells]"


def column(browser: Chromium, k: int) -> list[str]:
    found: list[str] = browser.run(f"[...{TABLE}.tBodies[0].rows].map((row) => row.cells[{k}].textContent)")
    return found


def test_a_table_is_sorted_folded_and_saved(report: Path, browser: Chromium, tmp_path: Path) -> None:
    opened(browser, report)
    browser.run(f"{TABLE}.closest('details').open = true")
    heads = browser.run(f"{HEADS}.map((one) => one.textContent)")
    said = f"{HEADS}.map((one) => one.getAttribute('aria-sort'))"
    written = [column(browser, k) for k in range(len(heads))]
    assert set(browser.run(said)) == {"none"}

    alpha = heads.index("α")  # by keys: up, down, as it was
    browser.run(f"{HEADS}[{alpha}].querySelector('button').focus()")
    for key, word, order in (("Enter", "ascending", 1), (" ", "descending", -1), ("Enter", "none", 0)):
        press(browser, key)
        becomes(browser, said, [word if k == alpha else "none" for k in range(len(heads))])
        expected = sorted(written[alpha], key=float, reverse=order < 0) if order else written[alpha]
        assert column(browser, alpha) == expected
    assert [column(browser, k) for k in range(len(heads))] == written

    click(browser, f"{HEADS}[0].querySelector('button')")  # by a click: names
    becomes(browser, f"{said}[0]", "ascending")
    assert column(browser, 0) == sorted(written[0])

    summary = f"{TABLE}.closest('details').querySelector('summary')"
    state = f"{TABLE}.closest('details').open"
    click(browser, summary)
    becomes(browser, state, False)
    press(browser, "Enter")  # the click left the focus there
    becomes(browser, state, True)

    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    file = tmp_path / browser.run(f"{TABLE}.dataset.file")
    click(browser, f"{TABLE}.closest('details').querySelector('.save')")
    end = monotonic() + 30
    while not file.exists() and monotonic() < end:
        sleep(0.05)
    data = file.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and data.endswith(b"\r\n")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    assert len(rows) == 1 + len(written[0]) and {len(row) for row in rows} == {len(rows[0])}
    assert rows[0][0] == heads[0] and [row[rows[0].index("α")] for row in rows[1:]] == column(browser, alpha)
    assert browser.faults() == []


def test_a_page_is_dark_where_the_reader_is_and_light_on_paper(report: Path, browser: Chromium) -> None:
    bright = """(() => {
      const light = (words) => { const [r, g, b] = words.match(/[\\d.]+/g).map(Number); return 0.3 * r + 0.59 * g + 0.11 * b > 128; };
      const style = (what, name) => light(getComputedStyle(document.querySelector(what))[name]);
      return [style("body", "backgroundColor"), style("body", "color"), style("#costs .answer .xtick text", "fill"), style(".gv-map", "backgroundColor")];
    })()"""
    opened(browser, report)
    assert browser.run(bright) == [True, False, False, True]
    browser.dark()
    browser.run(WAIT % 500)
    assert browser.run(bright) == [False, True, True, False]
    folded = "document.querySelectorAll('details:not([open])').length"
    before = browser.run(folded)
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert before > 0 and browser.run(folded) == 0
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.run(bright) == [True, False, False, True]
    browser.ask("Emulation.setDeviceMetricsOverride", width=710, height=1000, deviceScaleFactor=1, mobile=False)
    assert browser.run("document.documentElement.scrollWidth") <= 710  # a wider page would be printed smaller
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.run(folded) == before and browser.faults() == []


PUBLIC_PAGE = Path(__file__).parent / "golden" / "gridveil-release-6" / "page" / "report.html"


def test_a_public_page_fits_a_phone_and_paper(browser: Chromium) -> None:
    """No cell is cut off, labels of buses can be read, and the banner prints as black on white."""
    beyond = """Math.max(...[...document.querySelectorAll("td, dd, li, h1")].map((one) => one.getBoundingClientRect().right)) - innerWidth"""
    label = """(() => { const one = document.querySelector("svg text"); return parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a; })()"""
    browser.phone()
    browser.open(PUBLIC_PAGE)
    assert browser.run(beyond) <= 0 and browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run(label) >= 9
    browser.ask("Emulation.setDeviceMetricsOverride", width=710, height=1000, deviceScaleFactor=1, mobile=False)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    style = (
        "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('.stamp')))"
    )
    assert browser.run(style) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert browser.run(beyond) <= 0 and browser.run("document.documentElement.scrollWidth") <= 710
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert browser.run(scheme).split() == ["light", "only"] or browser.run(scheme).split() == ["only", "light"]


def test_a_large_map_answers_at_once_and_is_drawn_when_it_rests(browser: Chromium, tmp_path: Path) -> None:
    i = np.arange(999)
    ends = np.stack([np.concatenate([i, 1000 + i, np.arange(1000)]), np.concatenate([i + 1, 1001 + i, np.arange(1000) + 1000])], axis=1)  # fmt: skip
    place = np.stack([np.arange(2000.0) % 1000, 300.0 * (np.arange(2000) >= 1000)], axis=1)
    view = by_voltage(np.full(2000, 110.0), ends)
    picture = Picture("ladder", place, range(2000), ends, (view,), np.ones(2000), np.zeros(0, np.int64))
    page = tmp_path / "map.html"
    page.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<style>{map_style()}</style></head><body>{map_block(picture)}<script>{map_script()}</script></body></html>",
        encoding="utf-8",
    )
    browser.phone()
    browser.open(page)
    told = "[map.dataset.drawn, map.dataset.shifted ?? '0'].map(Number)"
    drawn, moved, rested, picked, size = browser.run(f"""(async () => {{
      const map = document.querySelector(".gv-map"), hands = map.gvMap, canvas = map.querySelector(":scope > canvas");
      const frame = () => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
      const first = {told};
      hands.zoom(8); await frame();
      const moved = {told};
      await new Promise((seen) => setTimeout(seen, 600));
      const rested = {told};
      hands.pick({{ buses: [3] }}); await frame();
      const labels = parseFloat(canvas.getContext("2d").font) * canvas.clientWidth / (canvas.width / devicePixelRatio);
      return [first, moved, rested, {told}, labels];
    }})()""")
    assert drawn == [1, 0]
    assert moved[1] == 1  # shown at once, as a picture of itself
    assert rested == [2, 1]  # and drawn when it rests
    assert picked == [3, 1]  # a choice is never put off
    assert size >= 9 and browser.faults() == []  # labels, in CSS pixels on a phone
