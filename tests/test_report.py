"""`gridveil report` and `gridveil figure`: whole, self-contained, escaped, drawn; clear errors for bad input."""

from __future__ import annotations

import builtins
import dataclasses
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gridveil.cli.main import app
from gridveil.errors import ReportError, StudyError
from gridveil.report.figure import charts_of, drawn, write_figure
from gridveil.report.html import LIMIT, write_report
from gridveil.study.catalogue import STUDIES
from gridveil.study.sections import read_studies, section
from tests.fake_results import fill, fill_all

pytest.importorskip("plotly", reason="reports need the extra 'report'")
HOSTILE = 'case"><script>alert(1)</script>&{{7*7}}<img src=x onerror=alert(2)>'
VOID = {"meta", "link", "br", "img", "hr", "input", "path", "circle", "rect"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_all(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def report(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(results, tmp_path_factory.mktemp("report") / "report.html")


class Reader(HTMLParser):
    """Notes tags that do not close, what is loaded, ids, and the text outside scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.handlers: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "xlink:href", "srcset"):
                self.loads.append(str(value))
            if name == "id":
                self.ids.append(str(value))
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader


def test_the_report_is_whole_and_alone(report: Path) -> None:
    reader = read(report)
    assert reader.faults == [] and reader.open == []
    assert report.stat().st_size <= LIMIT == 6_000_000
    assert [link for link in reader.loads if not link.startswith("#")] == []
    assert {link[1:] for link in reader.loads} <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    text = report.read_text(encoding="utf-8")
    assert "default-src 'none'" in text and "@import" not in text.split("</style>")[0]
    assert text.count("plotly.js v") == 1  # the library stands in it once


def test_every_study_has_its_section(report: Path) -> None:
    reader = read(report)
    for name, study in STUDIES.items():
        assert name in reader.ids
        assert study.title in reader.text
    assert reader.text.count("INTERNAL") >= 1
    assert "ε is the privacy budget" in reader.text and "Not protected are" in reader.text
    assert (
        "tasks failed" in reader.text and "SolveError: <b>no</b> network & no luck" in reader.text
    )  # escaped in the file
    assert "the paper (%)" in reader.text and "the paper (s)" in reader.text
    assert "Map of case39_epri" in reader.text


def test_the_report_is_the_same_every_time(results: Path, report: Path, tmp_path: Path) -> None:
    again = write_report(results, tmp_path / "again.html")
    assert again.read_bytes() == report.read_bytes()


def test_figures_are_strict_json_with_every_series_in_the_legend(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    block = re.search(r'id="figures">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    figures = json.loads(block.group(1), parse_constant=lambda name: pytest.fail(f"{name} in the data"))["figures"]
    assert len(figures) == len(re.findall(r'data-figure="\d+"', text)) > 40
    for figure in figures:
        assert figure["data"], "an empty figure"
    assert sum(any("meta" in trace for trace in figure["data"]) for figure in figures) == len(
        figures
    )  # maps are drawn by a script of ours


def test_hostile_names_do_nothing(tmp_path: Path) -> None:
    for name in ("feasibility", "resistances", "runtimes"):
        fill(tmp_path / "r", STUDIES[name], (HOSTILE,))
    path = write_report(tmp_path / "r", tmp_path / "x.html")
    reader = read(path)
    assert reader.faults == [] and reader.handlers == []
    assert (
        "img" not in reader.tags and reader.tags.count("script") == 4
    )  # library, figures, the data of a map, what draws
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text and "onerror=alert(2)>" not in text
    assert "{{7*7}}" in text and HOSTILE in reader.text
    svg = drawn(section("feasibility", read_studies(tmp_path / "r")["feasibility"]).charts[0], "svg").decode()
    assert "<script>" not in svg


def test_names_are_not_mathematics(tmp_path: Path) -> None:
    fill(tmp_path / "r", STUDIES["costs"], ("a $x_$ b",), draws=1)
    assert write_figure("costs", tmp_path / "r", tmp_path / "x.svg").path.exists()


def test_settings_that_nearly_agree_stay_apart(tmp_path: Path) -> None:
    from gridveil.study.store import Store

    study = STUDIES["costs"]
    store = Store.open(tmp_path, study, {"case39_epri": "digest"})
    chosen: dict[str, list[str | float]] = {"mechanism": ["log"], "alpha": [0.1, 0.1004], "beta": [0.01]}
    for task in study.tasks(["case39_epri"], 1, chosen):
        store.add(task, [{"feasible": True, "cost": 1.0, "difference_pct": float(dict(task.settings)["alpha"])}], 0.1)
    store.flush()
    store.close()
    (series,) = section("costs", read_studies(tmp_path)["costs"]).charts[0].panels[0].series
    assert (series.x, series.y) == (("0.1", "0.1004"), (0.1, 0.1004))


@pytest.mark.parametrize("name", list(STUDIES))
def test_settings_that_only_failed_are_counted_and_not_drawn(tmp_path: Path, name: str) -> None:
    from gridveil.study.store import Store

    study = STUDIES[name]
    fill(tmp_path, study, ("case39_epri",), draws=1)
    store = Store.open(tmp_path, study, {"case39_epri": "digest"})
    task = study.tasks(["case39_epri"], 1, {})[0]
    strange = dataclasses.replace(task, settings=tuple({**dict(task.settings), "mechanism": "nonsense"}.items()))
    store.add(strange, [], 0.0, "there is no mechanism 'nonsense'")
    store.flush()
    store.close()
    results = read_studies(tmp_path)[name]
    made = section(name, results)
    assert not any("nonsense" in one for chart in made.charts for one in chart.legend())
    assert ("there is no mechanism 'nonsense'", 1) in results.errors()


def test_a_study_where_everything_failed_says_so(tmp_path: Path) -> None:
    fill(tmp_path / "r", STUDIES["frontier"], draws=1)
    from gridveil.study.store import Store

    study = STUDIES["gaps"]
    store = Store.open(tmp_path / "r", study, {"case39_epri": "x"})
    store.add(study.tasks(["case39_epri"], 1, {})[0], [], 0.0, "all is lost")
    store.flush()
    store.close()
    reader = read(write_report(tmp_path / "r", tmp_path / "x.html"))
    assert "There is nothing to show yet" in reader.text and "all is lost" in reader.text
    with pytest.raises(ReportError, match="nothing to draw"):
        write_figure("gaps", tmp_path / "r", tmp_path / "x.pdf")


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_figure_can_be_drawn_for_paper(results: Path, name: str) -> None:
    for chart in charts_of(name, read_studies(results)[name]):
        svg = drawn(chart, "svg")
        assert svg.startswith(b"<?xml") and b"<path" in svg


def test_figures_are_the_same_every_time_and_vectors(results: Path, tmp_path: Path) -> None:
    for ending, start in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        one, two = (write_figure("costs", results, tmp_path / f"{i}.{ending}", part=2) for i in (1, 2))
        assert one.path.read_bytes() == two.path.read_bytes()
        assert one.path.read_bytes().startswith(start)
        assert "box plots" in one.title and len(one.parts) == 3
    assert b"/Subtype /Image" not in (tmp_path / "1.pdf").read_bytes()


def test_bad_input_is_a_sentence(results: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    with pytest.raises(ReportError, match="choose a place beside it"):
        write_report(results, results / "r.html")
    with pytest.raises(StudyError, match="there is no directory"):
        write_report(tmp_path / "nowhere", target)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("x")
    with pytest.raises(StudyError, match=r"holds other things \(notes.txt\)"):
        write_report(tmp_path / "foreign", target)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="there are no results"):
        write_report(tmp_path / "empty", target)
    with pytest.raises(StudyError, match="inside of a results directory"):
        write_report(results / "study=costs", target)
    with pytest.raises(ReportError, match=r"ends in .html"):
        write_report(results, tmp_path / "r.pdf")
    with pytest.raises(ReportError, match="there is no directory"):
        write_report(results, tmp_path / "no" / "r.html")
    with pytest.raises(StudyError, match="there is no study 'cost'"):
        write_figure("cost", results, tmp_path / "f.pdf")
    with pytest.raises(ReportError, match=r"ends in .pdf, .svg, .png"):
        write_figure("costs", results, tmp_path / "f.jpg")
    with pytest.raises(ReportError, match="no part 4; its parts are 1: Dispatch"):
        write_figure("costs", results, tmp_path / "f.pdf", part=4)
    fill(tmp_path / "one", STUDIES["scale"])
    with pytest.raises(ReportError, match="has no results of the study 'costs'"):
        write_figure("costs", tmp_path / "one", tmp_path / "f.pdf")
    assert not target.exists() and not list(tmp_path.glob("f.*"))


def test_an_existing_file_stays_unless_forced(tmp_path: Path) -> None:
    fill(tmp_path / "r", STUDIES["scale"])
    target = tmp_path / "r.html"
    target.write_text("mine")
    with pytest.raises(ReportError, match="exists; choose another file or give --force"):
        write_report(tmp_path / "r", target)
    assert target.read_text() == "mine"
    write_report(tmp_path / "r", target, force=True)
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r", "r.html"]  # nothing is left beside it


def test_a_heavy_report_leaves_out_its_longest_tables(
    results: Path, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = report.stat().st_size - 100_000
    monkeypatch.setattr("gridveil.report.html.LIMIT", limit)
    light = write_report(results, tmp_path / "r.html")
    assert light.stat().st_size <= limit
    assert "rows, left out to keep this file light" in read(light).text
    monkeypatch.setattr("gridveil.report.html.LIMIT", 1_000_000)
    with pytest.raises(ReportError, match=r"even without its tables, more than 1"):
        write_report(results, tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    ("package", "extra"), [("plotly.offline", "report"), ("jinja2", "report"), ("matplotlib", "plot")]
)
def test_a_missing_extra_is_named(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    there = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name == package:
            raise ImportError(name=package)
        return there(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ReportError, match=re.escape(f"gridveil[{extra}]")):
        if package == "matplotlib":
            write_figure("scale", results, tmp_path / "f.pdf")
        else:
            write_report(results, tmp_path / "r.html")


def test_the_commands(results: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    made = run(app, ["report", str(results), "-o", str(tmp_path / "r.html"), "--json"])
    assert made.exit_code == 0 and json.loads(made.stdout)["bytes"] > 4_000_000
    made = run(app, ["figure", "attacks", str(results), "-o", str(tmp_path / "f.svg"), "--part", "2", "--json"])
    assert made.exit_code == 0 and json.loads(made.stdout)["title"] == "Load restored after attacks on case118_ieee"
    for arguments in (
        ["report", str(results), "-o", str(tmp_path / "r.html")],
        ["figure", "no", str(results), "-o", str(tmp_path / "f.pdf")],
    ):
        made = run(app, arguments)
        assert made.exit_code == 2 and "Traceback" not in made.output


def test_the_command_line_starts_without_the_extras() -> None:
    code = (
        "import sys, gridveil.cli.main; print({'plotly', 'jinja2', 'matplotlib', 'pyarrow', 'dask'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


PROBE = """<script>setTimeout(() => {
  const plots = [...document.querySelectorAll("[data-figure]")], faults = [];
  for (const figure of document.querySelectorAll("figure.chart")) {
    for (const button of figure.querySelectorAll("[data-series]")) {
      const mine = () => [...figure.querySelectorAll("[data-figure]")].flatMap((p) => p.data)
        .filter((t) => t.meta === Number(button.dataset.series)).map((t) => t.visible !== false);
      button.click(); if (mine().length === 0 || mine().some((v) => v)) faults.push("stays: " + button.textContent);
      button.click(); if (!mine().every((v) => v)) faults.push("gone: " + button.textContent);
    }
  }
  const map = document.querySelector(".gv-map"), choice = map.querySelector("select"), pixels = () => map.querySelector(":scope > canvas").toDataURL();
  const before = pixels(); choice.selectedIndex = choice.options.length - 1; choice.dispatchEvent(new Event("change")); map.gvMap.draw();
  if (pixels() === before) faults.push("the map does not change");
  const bare = plots.filter((p) => !p.querySelector(".main-svg") || !p.querySelector(".trace, .bars, .box, .scatterlayer"));
  const wide = document.documentElement.scrollWidth > window.innerWidth + 1;
  document.body.dataset.probe = JSON.stringify({ plots: plots.length, drawn: Number(document.body.dataset.drawn), inside: document.querySelectorAll(".js-plotly-plot").length, bare: bare.length, wide, faults });
}, 8000);</script>"""


def test_chromium_draws_every_figure(report: Path, tmp_path: Path) -> None:
    """No console message, every figure drawn, series on and off."""
    look_at(report, tmp_path, "1200,900", least=60)


def test_chromium_on_a_phone(tmp_path: Path) -> None:
    """Nothing is wider than the window."""
    for name in ("feasibility", "resistances", "time-series-attacks"):
        fill(tmp_path / "r", STUDIES[name], draws=1)
    look_at(write_report(tmp_path / "r", tmp_path / "r.html"), tmp_path, "500,900", least=8)


def look_at(report: Path, tmp_path: Path, size: str, least: int) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    page = tmp_path / "probe.html"
    page.write_text(report.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>"), encoding="utf-8")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}/profile",
        f"--window-size={size}", "--virtual-time-budget=20000", "--enable-logging=stderr", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "CONSOLE" not in done.stderr, [line for line in done.stderr.splitlines() if "CONSOLE" in line][:5]
    probe = re.search(r'data-probe="(.*?)"', done.stdout)
    assert probe is not None, "the page's script did not end"
    found = json.loads(probe.group(1).replace("&quot;", '"'))
    assert found["faults"] == []
    assert found["plots"] == found["drawn"] == found["inside"] >= least
    assert found["bare"] == 0 and not found["wide"]
