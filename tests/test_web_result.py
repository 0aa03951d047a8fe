"""The page Result: what changed, in figures; dispatches before and after; red and green never mixed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import gridveil as gv
from gridveil import cases
from gridveil.advice.choice import Choice
from gridveil.errors import ReportError
from gridveil.grid import Network
from gridveil.report.dispatches import Dispatch, dispatch, loadings, prices
from gridveil.report.maps.pair import looks, pair_of_maps, pair_style
from gridveil.report.twins import twins
from gridveil.web.runner import OUT
from gridveil.web.settings import Settings
from tests.workbench import Browser, field_of, workbench


def record(network: Network) -> dict[str, object]:
    """As `gridveil opf --json --full` writes it."""
    solved = gv.solve_opf(network).require()
    names = ("vm", "va", "pg", "qg", "pf", "qf", "pt", "qt")
    point = {name: getattr(solved.point, name).tolist() for name in names}
    multipliers = {"balance_p": solved.multipliers["balance_p"].tolist()}
    return {"status": "optimal", "cost": solved.cost, "point": point, "multipliers": multipliers}


@pytest.fixture(scope="module")
def solved() -> tuple[Network, Dispatch]:
    network = gv.load("case14_ieee")
    return network, dispatch(network, record(network))


def test_loading_and_prices_are_those_of_the_solution(solved: tuple[Network, Dispatch]) -> None:
    network, found = solved
    solution = gv.solve_opf(network).require()
    frame = solution.frame("lines")
    assert np.allclose(100 * found.loading, frame["loading_pct"].to_numpy())
    assert np.allclose(found.price, solution.frame("buses")["price"].to_numpy())
    assert found.cost == solution.cost


def test_a_dispatch_of_another_network_or_none_is_refused(solved: tuple[Network, Dispatch]) -> None:
    network, _ = solved
    with pytest.raises(ReportError, match="another network"):
        dispatch(gv.load("case30_ieee"), record(network))
    with pytest.raises(ReportError, match="no dispatch to show: locally infeasible"):
        dispatch(network, {"status": "infeasible", "detail": "locally infeasible"})


def test_histograms_count_both_sides(solved: tuple[Network, Dispatch]) -> None:
    _, one = solved
    other = Dispatch(one.cost, one.loading * 1.5, one.price + 2.0)
    figure, words = loadings(one, other)
    assert "20 lines have a rating" in words and figure.count("<rect") == 2 * 11 + 2
    figure, words = prices(one, other)
    assert "prices move by 2 $/MWh or less" in words and figure.count("<rect") == 2 * 14 + 2
    flat = Dispatch(1.0, np.full(3, np.nan), np.full(4, 7.0))
    assert loadings(flat, flat) == ("", "No line has a rating, so that none has a loading.")
    assert "<svg" in prices(flat, flat)[0]
    tall = [float(one) for one in re.findall(r'height="([\d.]+)" class="middle"', twins(np.array([1.0, 1, 5]), np.array([5.0]), np.array([3.0]), "x"))]  # fmt: skip
    assert tall[0] == 2 * tall[1] > 0  # two below three, one above


def test_two_maps_have_the_same_places_and_classes_of_the_style(solved: tuple[Network, Dispatch]) -> None:
    network, one = solved
    before, after = pair_of_maps(network.grid, one.loading, one.loading * 0 + 0.95)
    box = re.compile(r'viewBox="([^"]+)"')
    assert box.findall(before) == box.findall(after)
    assert 'class="dots"' in before and "20 lines are loaded to 90 %" in after
    assert set(re.findall(r'class="(c\d)"', after)) == {"c4"}
    style = pair_style()
    for k, look in enumerate(looks()):
        assert f".c{k} {{ stroke: {look.light}; }}" in style and f".c{k} {{ stroke: {look.dark}; }}" in style
    assert "style=" not in before + after  # the content policy allows none


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a release was made."""
    root = tmp_path_factory.mktemp("steward")
    shutil.copy(cases.path("case14") or "", root / "net.m")
    with workbench(root) as browser:
        browser.desk.lay(name="net.m", settings=Settings(Choice("LD", 0.1, 3.0, 0.01)))
        page = browser.get("/signoff")
        given = {"nonce": field_of(page, "nonce"), "seal": field_of(page, "seal"), "name": "case14_ieee"}
        assert browser.post("/signoff", None, **given).status == 303
        assert ">released<" in browser.wait("/release/live").text
    return root


def test_the_result_has_figures_of_changes_loading_and_prices(released: Path) -> None:
    with workbench(released) as browser:
        page = browser.get("/result")
        assert "Impedances and charging of lines: impedances" in page.words and "Loads: active loads" in page.words
        assert page.text.count("histogram of relative changes") >= 4 and "Solve both networks" in page.words
        assert browser.post("/result/dispatch").status == 303
        assert len(browser.desk.jobs.all("dispatch")) == 2
        shown = browser.wait("/result/dispatch/live")
        for words in ("The optimal dispatch costs 2,178 $/h before", "The median price is", "20 lines have a rating"):
            assert words in shown.words
        page = browser.get("/result")
        assert page.text.count("Map of the network before") == page.text.count("Map of the network after") == 1
        assert 'data-wipes="maps"' in page.text and "INTERNAL" in page.words and " style=" not in page.text
        for css in ("pair.css", "map.css"):
            assert browser.get(f"/static/{css}").headers["Content-Type"].startswith("text/css")


def test_green_pages_have_nothing_of_the_red_ones(released: Path) -> None:
    with workbench(released) as browser:
        browser.post("/result/dispatch")
        browser.wait("/result/dispatch/live")
        for address in ("/result/bundle", "/review"):
            green = browser.get(address)
            assert "PUBLIC" in green.words and "INTERNAL" not in green.words
            for red in ("before", "2,178", "relative changes", "net.m"):
                assert red not in green.words, (address, red)
        job = browser.desk.jobs.all("release")[0]
        names = {name for name in browser.get("/result/bundle").words.split() if "." in name}
        assert not {one for one in names if "dispatch" in one} and job.state == "done"


def test_what_was_not_solved_is_said(released: Path) -> None:
    with workbench(released) as browser:
        browser.post("/result/dispatch")
        _both_done(browser)
        for content in ('{"status": "infeasible", "detail": "locally infeasible"}', "", "[1]", '{"status": "optimal"}'):
            (browser.desk.jobs.all("dispatch")[0].place / OUT).write_text(content)
            with workbench(released) as again:  # another server reads it anew
                said = again.get("/result/dispatch/live")
            assert said.status == 200 and 'role="alert"' in said.text and "Solve both again" in said.words
        assert browser.post("/result/dispatch").status == 303
        assert "The optimal dispatch costs" in browser.wait("/result/dispatch/live").words


def _both_done(browser: Browser) -> None:
    assert "optimal dispatch" in browser.wait("/result/dispatch/live").words
    for job in browser.desk.jobs.all("dispatch"):
        assert json.loads((job.place / OUT).read_bytes())["status"] == "optimal"
