"""Twenty draws at four α: lines before and after, the AC-OPF of each, a plot of its prices. Research: NOT private."""

import sys
from pathlib import Path

import pandas

import gridveil as gv

network, prices, moved = gv.load("case14_ieee"), gv.solve_opf("case14_ieee").frame()["price"], {}
for alpha in (0.01, 0.03, 0.1, 0.3):
    every = gv.release_many(gv.seal(network), gv.Plan(1.0, alpha, 0.01), seeds=range(20))
    draws = [draw.network for draw in every if draw.network is not None]
    lines = [gv.compare(network, one).lines["change"].abs().median() for one in draws]  # INTERNAL: before and after
    moved[alpha] = [100 * (gv.solve_opf(one).frame()["price"] / prices - 1).abs().max() for one in draws]
    print(f"α = {alpha:g}: {len(draws)} draws; half of the lines' numbers moved by {sorted(lines)[10]:.1%} or less")
axes = pandas.DataFrame(moved).plot.box(xlabel="α", ylabel="largest change of a price (%)")
axes.figure.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "prices.svg")
