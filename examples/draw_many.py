"""Draw a network twenty times at four α, and see what that does to lines, costs and prices. Research: NOT private.

python examples/draw_many.py
"""

from __future__ import annotations

import gridveil as gv

network, prices = gv.load("case14_ieee"), gv.solve_opf("case14_ieee").frame()["price"]
for alpha in (0.01, 0.03, 0.1, 0.3):
    draws = list(gv.release_many(gv.seal(network), gv.Plan(1.0, alpha, 0.01), seeds=range(20)))
    made = [draw.network for draw in draws if draw.network is not None]
    print(f"{sum(draw.certified for draw in draws)} of {len(draws)} draws certified at α = {alpha:g}")
    lines = [gv.compare(network, one).lines.query("quantity == 'x_pu'")["change"].abs().median() for one in made]
    moved = [(gv.solve_opf(one).frame()["price"] / prices - 1).abs().max() for one in made]
    print(f"  reactances moved by {sorted(lines)[len(lines) // 2]:.1%}, prices by {max(moved):.1%} at most")
print(gv.compare(network, made[-1]))  # INTERNAL: it needs the original
