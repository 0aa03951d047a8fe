# %% [markdown]
# # A thousand draws
#
# How much would a release change the network? You cannot try that on your own network with real releases: each is
# charged to the ledger. So there is a mode for research, whose noise comes from a seed. Anybody who knows the seed can
# undo the noise, so a research draw protects **nothing**. And what compares with the original is INTERNAL.
#
# Here are 3 × 6 draws of 14 buses, so that this page is made in seconds. Write `range(1000)` for `range(6)`,
# and `workers=2` for two processes; nothing else changes.

# %%
import gridveil as gv

original = gv.load("case14_ieee")
alphas = [0.01, 0.1, 0.3]
plans = [gv.Plan(epsilon=1.0, alpha=alpha, beta="1%") for alpha in alphas]
draws = list(gv.release_many(gv.seal(original), plans, seeds=range(6)))
print(len(draws), "draws,", sum(draw.certified for draw in draws), "certified")
draws[0]

# %% [markdown]
# Every plan is drawn with every seed. *Certified* means that all that a release promises holds: the power flows
# balance, no limit is violated, and the optimal cost is within β of the stated one.
#
# ## How far do lines move?
#
# A frame makes the rest easy. One row per draw: how far the median reactance moved, and how far the optimal cost lies
# from the true one.

# %%
import pandas as pd

true_cost = gv.solve_opf(original).cost


def row(draw):
    x = gv.compare(original, draw.network).lines.query("quantity == 'x_pu'")
    moved = 100 * x["change"].abs().median()
    return {"alpha": draw.plan.alpha, "x_moved_pct": moved, "cost_off_pct": 100 * abs(draw.cost / true_cost - 1)}


table = pd.DataFrame([row(draw) for draw in draws if draw.network is not None])
table.groupby("alpha").median().round(2)

# %% [markdown]
# The reactances move by about α in the median. That is no accident: the logarithm of a line's impedance gets noise of
# the size α/0.8, since a fifth of ε is set aside for the cost, and the ratio of reactance to resistance gets as much.
# The cost moves far less: the noise of many lines averages out, and the release is repaired towards a cost that is
# known from the noisy lines, or asked for with noise of its own.

# %%
from matplotlib import pyplot as plt

figure, axes = plt.subplots()
for name, colour, words in [("x_moved_pct", "#2a78d6", "reactance, median line"), ("cost_off_pct", "#c2410c", "cost")]:
    axes.scatter(table["alpha"], table[name].clip(lower=1e-3), s=14, color=colour, alpha=0.6, label=words)
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks(alphas, [f"{alpha:.0%}" for alpha in alphas])
axes.set_xlabel("α")
axes.set_ylabel("away from the truth (%)")
axes.legend(frameon=False)
axes.set_title("INTERNAL: one dot per draw", fontsize=10)
plt.show()

# %% [markdown]
# ## One draw in full
#
# A draw is a network like any other: solve it, look at its prices, save it. Frames have power in MW and Mvar, angles in
# degrees, impedances in per unit.

# %%
draw = draws[-1]
before, after = gv.solve_opf(original).frame(), gv.solve_opf(draw.network).frame()
print(f"α = {draw.plan.alpha:g}: largest change of a price {(after['price'] / before['price'] - 1).abs().max():.1%}")
after.head()

# %% [markdown]
# ## A training set
#
# For machine learning, write a table of draws: one row per line and draw. Any grid that you load works; this one has
# five buses.

# %%
five = gv.seal("case5_pjm")
draws = [draw for draw in gv.release_many(five, plans[1], seeds=range(5)) if draw.network is not None]
lines = [gv.frames(draw.network).lines.assign(seed=draw.seed) for draw in draws]
data = pd.concat(lines)[["seed", "from_bus", "to_bus", "r_pu", "x_pu"]]
data.to_csv("draws.csv")
print(len(data), "rows written")
data.head(3)

# %% [markdown]
# Publish such a table only if the original is public, as it is here. The draws are not private, and their average is
# the original.
