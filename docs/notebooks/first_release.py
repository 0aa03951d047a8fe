# %% [markdown]
# # Your first release
#
# This notebook releases a small public network, looks at what came out, and checks it as a stranger would.
# The noise here is real: run the notebook again and every number that depends on it is another one.
#
# The network is `case14_ieee`, which comes with the package. Put the path of a file of yours in its place, and
# everything below works the same, but then keep the ledger (see below) in a safe place of your own.

# %%
import gridveil as gv

original = gv.read_case("case14_ieee")
gv.frames(original).lines.head()

# %% [markdown]
# These are the numbers we want to protect: resistance `r_pu`, reactance `x_pu` and charging `b_pu` of every line.
#
# ## Say what you want
#
# A plan has three numbers.
#
# - `epsilon` is the privacy budget of this release: smaller is more private.
# - `alpha` is the size of change that it protects. `"10%"` means roughly: whether this line is ten per cent longer.
# - `beta` is how far the cost of running the released network may lie from the cost that the release states.
#
# [What ε and α mean](../ideas/epsilon-alpha.md) shows them in pictures.

# %%
plan = gv.Plan(epsilon=1.0, alpha="10%", beta="1%")
sealed = gv.seal(original)
sealed

# %% [markdown]
# `gv.seal` closes a door. The sealed network says how many buses and lines it has, and that is all it will say;
# it can be released, and nothing else.
#
# ## Keep a ledger
#
# Each release spends some privacy of the same lines. The ledger is the file that adds it up, and refuses a release
# that would go beyond the limit. Make one for your organisation and keep it. Here it is thrown away with the notebook.

# %%
ledger = gv.Ledger.init("grid.ledger", limit=10.0)
made = gv.release(sealed, plan, ledger=ledger)
for check in made.certificate.checks:
    print(f"{'holds' if check.passed else 'FAILS'}  {check.name}: {check.value:.2g} (limit {check.limit:.2g})")

# %% [markdown]
# Now it is spent: the ledger was charged before the noise was drawn, and stays charged whatever you do with the result.

# %%
privacy = made.manifest.privacy
print(
    f"spent by this release: {privacy.loss:g}; on this network so far: {privacy.cumulative_loss:g} of {privacy.limit:g}"
)

# %% [markdown]
# With these settings a fifth of ε is kept back for a question about the true cost. If the noisy lines already tell
# the cost as well as the answer would, the question is not asked and the fifth is not spent.
#
# ## Look at it
#
# `gv.compare` puts the true and the released numbers side by side. Only you can do this, because only you have the
# original. What it shows is INTERNAL: do not publish it. For a map of the changes to zoom, search and select in, write
# `gv.interactive_map(made, original=original)`; it is INTERNAL, too.

# %%
both = gv.compare(original, made)
both.lines.query("quantity == 'x_pu'").head(8)

# %%
from matplotlib import pyplot as plt

x = both.lines.query("quantity == 'x_pu'")
figure, axes = plt.subplots()
axes.bar(range(1, len(x) + 1), 100 * x["change"], color="#2a78d6")
axes.axhline(0, color="#555555", linewidth=0.8)
axes.set_xlabel("line")
axes.set_ylabel("change of the reactance (%)")
axes.set_title("INTERNAL: what the noise did to each line", fontsize=10)
plt.show()

# %% [markdown]
# Loads, generators and limits were not protected by this plan, so they stand in the release as they are.

# %%
print("largest change of a load:", abs(both.loads["change"]).max())

# %% [markdown]
# ## Publish, and check as a stranger does
#
# `write` makes the bundle: the network, a certificate, and a manifest that says what was spent and what is *not*
# protected. `gv.verify` needs the bundle alone.

# %%
bundle = made.write("published")
print(*sorted(path.name for path in bundle.iterdir()), sep="\n")
verdict = gv.verify(bundle)
print(verdict.sentence)

# %% [markdown]
# ## Before it goes out: what would an attacker read from it?
#
# The leak check plays the attackers that we know of against this very release. It needs the original, so its answer is
# INTERNAL, too.

# %%
found = gv.leakcheck(original, bundle)
print(found.verdict, "-", found.reason)

# %% [markdown]
# For this network the answer is hardly ever `clean`. Somebody made its line ratings from its impedances, by a formula
# that is public, and ratings are published as they are. So whoever knows the formula reads the reactances off the
# ratings, and the noise on the lines is of no use. The remedy is to protect the ratings as well, together with the
# impedances that they were made from. GridVeil asks before it does something that looks like a slip, such as more than
# doubling what has been spent; `confirmed=True` is the answer "yes, I mean it".

# %%
plan = gv.Plan(1.0, "10%", "1%", protect=["lines", "ratings"], ratings="with-impedance")
again = gv.release(sealed, plan, ledger=ledger, confirmed=True)
found = gv.leakcheck(original, again)
print(found.verdict, "-", found.reason)
print(f"on this network so far: {again.manifest.privacy.cumulative_loss:g} of {again.manifest.privacy.limit:g}")

# %% [markdown]
# Three things to take home.
#
# - The second release was charged on top of the first: whoever has both knows more than whoever has one.
# - Only one of the two may go out. The first has the true ratings in it, and what one release publishes as it is, no
#   later one can protect.
# - The order was wrong. Had we run the check on a [research draw](thousand_draws.md) first, we would have found this
#   before anything was spent.
