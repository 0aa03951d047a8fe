# %% [markdown]
# # What can an attacker do with it?
#
# A saboteur wants to know which lines to cut. We give him more and more to work with, let him choose, and then see what
# he did to the *real* network. All of this is INTERNAL: it needs the original. The network is the public one with 39
# buses.

# %%
import gridveil as gv

original = gv.load("case39_epri")
target = gv.Target(original)

# %% [markdown]
# A `Target` is the real network with a memory: the damage of each set of lines is computed once.
#
# ## Who knows what
#
# - `topology` has the map: which buses are joined, where loads and generators stand, and the total demand. No releases
#   are needed for that.
# - `released` has a release, and cuts the lines that carry most power in it.
# - `real` has the true network, and does the same there. Nobody but the operator can.
# - `random` knows nothing.
#
# Each cuts five of the 46 lines.

# %%
import pandas as pd
from matplotlib import pyplot as plt

sealed = gv.seal(original)
lines = gv.Plan(1.0, "30%", "1%", cost="derived")
everything = gv.Plan(1.0, "30%", "1%", protect="all")
collected = [draw.network for draw in gv.release_many(sealed, lines, seeds=range(1, 10))]
all_protected = next(gv.release_many(sealed, everything, seeds=[1])).network

attacks = {
    "the true network": gv.attack(target, count=5),
    "a release, lines protected": gv.attack(target, collected[0], attacker="released", count=5),
    "a release, all protected": gv.attack(target, all_protected, attacker="released", count=5),
    "the map alone": gv.attack(target, attacker="topology", count=5),
    "nothing (random)": gv.attack(target, attacker="random", count=5),
}
table = pd.DataFrame(
    {
        "same lines as with the truth (%)": {name: one.similarity for name, one in attacks.items()},
        "load served afterwards (%)": {name: one.restored_percent for name, one in attacks.items()},
    }
)
table.round(0)

# %%
axes = table["same lines as with the truth (%)"].iloc[::-1].plot.barh(color="#2a78d6")
axes.set_xlabel("lines that the attack has in common with the best informed one (%)")
plt.show()

# %% [markdown]
# Two lessons, and both are true beyond this one draw ([fifty draws of each setting](../results/joint.md)).
#
# - **Noise on lines alone hides hardly anything from a saboteur.** Loads and generators decide where power flows, and
#   these stand in such a release as they are. Over fifty draws at α = 30 % he finds 86 % of the lines.
# - **With everything protected he finds no more than with a map.** The map alone gives him 60 % here. That he has
#   anyway, and no release can take it away.
#
# Note also that the similarity is not the damage: a different set of lines can hurt as much.
#
# ## Who collects releases
#
# Noise is drawn anew for each release, so whoever has several can average it away. Here are nine releases of the lines
# at α = 30 %, read by somebody who takes the middle one of the values of each reactance.

# %%
import numpy as np

truth = original.lines.impedance()[1]
values = np.array([network.lines.impedance()[1] for network in collected])
for count in (1, 3, 9):
    away = abs(np.median(values[:count], axis=0) / truth - 1)
    print(f"with {count} of them, half of the reactances are known to within {np.median(away):.0%}")

# %% [markdown]
# That is what the ledger is for. It does not forbid the second release; it adds the losses, and refuses when a limit
# that you set would be passed.
#
# ## Who reads the lines themselves
#
# The leak check (`gv.leakcheck`, or `gridveil leakcheck` on the command line) plays nine attackers against the numbers
# of a release: [the first notebook](first_release.md) has one.
