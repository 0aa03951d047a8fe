"""Draw the pictures of docs/ideas from the shipped case of 39 buses, and the numbers that the text beside them has.

    python scripts/pictures.py [FOLDER]      docs/pictures, unless another is given; needs gridveil[plot]

Noise is seeded: the same pictures every time. They have a light ground of their own, also on dark pages.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gridveil as gv
from gridveil.arrays import FloatArray

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
CASE, LINE = "case39_epri", 2
"""The line from bus 2 to bus 3."""
ALPHA = 0.1
DRAWS = 300
INK, MUTED, BLUE, ORANGE, GROUND = "#1f2328", "#59636e", "#2a78d6", "#c2410c", "#ffffff"
LOOK: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "gridveil", "font.family": "sans-serif", "font.size": 11,
    "figure.facecolor": GROUND, "axes.facecolor": GROUND, "text.color": INK, "axes.labelcolor": INK,
    "xtick.color": MUTED, "ytick.color": MUTED, "axes.edgecolor": MUTED, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False,
}  # fmt: skip


def changed(r: float, x: float, bc: float) -> gv.Network:
    """The network with the three numbers of its line multiplied."""
    network = gv.load(CASE)
    values = [*network.lines.impedance(), network.lines.bc.copy()]
    for value, factor in zip(values, (r, x, bc), strict=True):
        value[LINE] *= factor
    return gv.Network(network.grid, gv.LineParameters.from_impedance(*values))


@cache
def distances() -> tuple[float, float]:
    """How far the line ten per cent longer, and with ten per cent more reactance alone, is from the true one."""
    true = gv.load(CASE)
    longer, reactance = (
        gv.distance(true, other, ALPHA).total for other in (changed(1.1, 1.1, 1.1), changed(1, 1.1, 1))
    )
    return longer, reactance


@cache
def released(draws: int) -> FloatArray:
    """r, x and bc of the line in so many releases at ε = 1, all of it for the lines."""
    plan = gv.Plan(1.0, ALPHA, 0.01, cost="derived")
    rows = []
    for draw in gv.release_many(gv.seal(CASE), plan, seeds=range(draws)):
        if draw.network is not None:
            r, x = draw.network.lines.impedance()
            rows.append((r[LINE], x[LINE], draw.network.lines.bc[LINE]))
    return np.array(rows)


def coordinates(values: FloatArray) -> FloatArray:
    """What noise is put on: ln|z|, ln|x/r|, ln|bc/x|, of rows (r, x, bc)."""
    r, x, bc = np.atleast_2d(values).T
    return np.stack([np.log(np.hypot(r, x)), np.log(x / r), np.log(bc / x)], axis=1)


def beliefs(network: gv.Network, draws: int) -> FloatArray:
    """A reader's belief in the true line after each release, if he knows that it is this one or that of `network`."""
    seen, scale = coordinates(released(draws)), ALPHA  # ε = 1
    log_odds = np.zeros(len(seen))
    for one, sign in ((gv.load(CASE), 1.0), (network, -1.0)):
        r, x = one.lines.impedance()
        own = coordinates(np.array([r[LINE], x[LINE], one.lines.bc[LINE]]))
        log_odds -= sign * np.abs(seen - own).sum(axis=1) / scale
    return 1 / (1 + np.exp(-log_odds))


def belief(log_odds: float) -> float:
    """From even odds, in per cent."""
    return 100 / (1 + float(np.exp(-log_odds)))


@cache
def numbers(draws: int = DRAWS) -> dict[str, str]:
    """The numbers that docs/ideas/epsilon-alpha.md states, as it writes them."""
    true = gv.load(CASE)
    r, x = true.lines.impedance()
    longer, reactance = distances()
    twice = gv.distance(true, changed(2, 2, 2), ALPHA).total
    off = np.abs(released(draws)[:, 1] / x[LINE] - 1)
    middle = {name: np.median(100 * beliefs(network, draws)) for name, network in _others().items()}
    return {
        "r": f"{r[LINE]:.4f}", "x": f"{x[LINE]:.4f}", "bc": f"{true.lines.bc[LINE]:.4f}",
        "longer": f"{longer:.2f}ε", "reactance": f"{reactance:.1f}ε",
        "odds longer": f"{np.exp(longer):.1f} to 1", "belief longer": f"{belief(longer):.0f} %",
        "odds reactance": f"{np.exp(reactance):.0f} to 1", "belief reactance": f"{belief(reactance):.0f} %",
        "half within": f"{100 * np.median(off):.0f} %", "nine in ten within": f"{100 * np.quantile(off, 0.9):.0f} %",
        "median longer": f"{middle['longer']:.0f} %", "median reactance": f"{middle['reactance']:.0f} %",
        "ten releases": f"{belief(10 * longer):.3f} %", "three releases": f"{belief(3 * longer):.0f} %",
        "default": f"{0.8 * longer:.2f}", "belief from ten": f"{100 / (1 + 9 / np.exp(longer)):.0f} %",
        "twice": f"{twice:.1f}ε", "odds twice": f"{np.exp(twice):,.0f} to 1",
        **{f"at {epsilon:g}": _row(epsilon * longer, f"{epsilon:g}", digits)
           for epsilon, digits in ((0.1, 1), (0.3, 1), (1.0, 1), (3.0, 0), (5.0, 0))},
    }  # fmt: skip


def _row(log_odds: float, epsilon: str, digits: int) -> str:
    return f"| {epsilon} | {np.exp(log_odds):.{digits}f} to 1 | {belief(log_odds):.0f} % |"


def _others() -> dict[str, gv.Network]:
    return {"longer": changed(1.1, 1.1, 1.1), "reactance": changed(1, 1.1, 1)}


# ---- the pictures ----


def noise(axes: Any, draws: int) -> None:
    """The line's reactance in many releases."""
    _, x = gv.load(CASE).lines.impedance()
    seen = released(draws)[:, 1]
    edges = x[LINE] * np.exp(np.linspace(-0.5, 0.5, 41))
    axes.hist(np.clip(seen, edges[0], edges[-1]), edges, color=BLUE)
    axes.axvline(x[LINE], color=ORANGE, linewidth=2)
    axes.annotate(f"true value {x[LINE]:.4f}", (x[LINE], 0.97), (8, 0), ("data", "axes fraction"), "offset points",
                  color=ORANGE, va="top")  # fmt: skip
    axes.set_xticks([0.010, 0.014, 0.018, 0.022])
    axes.set_xlabel("reactance of line 2–3 in the release (per unit)")
    axes.set_ylabel(f"releases, of {len(seen)}")


def odds(upper: Any, lower: Any) -> None:
    """How likely each released length is, for the true line and one that is ten per cent longer; and the ratio."""
    longer, _ = distances()
    step = longer * ALPHA
    at = np.sort(np.append(np.linspace(-0.45, 0.55, 101), [0.0, step]))
    here, there = (np.exp(-np.abs(at - place) / ALPHA) / (2 * ALPHA) for place in (0.0, step))
    for values, colour, words in ((here, BLUE, "if the line is as it is"), (there, ORANGE, "if it is 10 % longer")):
        upper.plot(100 * np.exp(at), values, color=colour, linewidth=2, label=words)
        upper.fill_between(100 * np.exp(at), values, color=colour, alpha=0.12, linewidth=0)
    upper.set_yticks([])
    upper.set_ylabel("how likely")
    upper.legend(loc="upper right", fontsize=10, borderaxespad=0)
    lower.plot(100 * np.exp(at), here / there, color=INK, linewidth=2)
    lower.axhline(1, color=MUTED, linewidth=0.8, linestyle=":")
    lower.set_yscale("log")
    ends = [1 / np.exp(longer), 1, np.exp(longer)]
    lower.set_yticks(ends, [f"1 to {ends[2]:.1f}", "even", f"{ends[2]:.1f} to 1"])
    lower.minorticks_off()
    lower.set_ylim(0.25, 4)
    lower.set_xlabel("length of the line in the release (% of the true one)")
    lower.set_ylabel("odds")


def posterior(upper: Any, lower: Any, draws: int) -> None:
    """What readers believe after each release, of two candidate lines, for two pairs of them."""
    longer, reactance = distances()
    others = _others()
    for axes, name, distance, words in (
        (upper, "longer", longer, "the other candidate: 10 % longer"),
        (lower, "reactance", reactance, "the other candidate: only its reactance 10 % larger"),
    ):
        least, most = belief(-distance), belief(distance)
        axes.hist(100 * beliefs(others[name], draws), np.linspace(least - 1e-9, most + 1e-9, 26), color=BLUE)
        axes.axvline(50, color=MUTED, linewidth=1, linestyle=":")
        for end in (least, most):
            axes.axvline(end, color=ORANGE, linewidth=2)
        axes.set_title(words, fontsize=11, loc="left")
        axes.set_ylabel("releases")
        axes.set_xlim(0, 100)
    lower.set_xlabel("belief in the true line (%), after 50 % before")


def several(axes: Any) -> None:
    """How sure a reader can at most become with each further release."""
    longer, _ = distances()
    count = np.arange(11)
    for epsilon, colour in ((1.0, BLUE), (0.3, ORANGE), (0.1, MUTED)):
        axes.plot(count, [belief(epsilon * n * longer) for n in count], "o-", color=colour, markersize=4)
        axes.annotate(f"ε = {epsilon:g}", (10.3, belief(10 * epsilon * longer)), color=colour, va="center")
    axes.set_xlim(-0.3, 12.2)
    axes.set_xlabel("releases of the same line")
    axes.set_ylabel("belief at most (%)")
    axes.set_ylim(48, 102)
    axes.set_xticks(count[::2])


def draw_all(folder: Path, draws: int = DRAWS) -> list[Path]:
    """Draw every picture; gives back their files."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with mpl.rc_context(LOOK):
        for name, rows, height, paint in (
            ("noise", 1, 3.0, lambda axes: noise(axes, draws)),
            ("odds", 2, 4.2, odds),
            ("posterior", 2, 4.2, lambda upper, lower: posterior(upper, lower, draws)),
            ("several", 1, 3.0, several),
        ):
            figure, axes = plt.subplots(rows, 1, figsize=(5.0, height), sharex=rows > 1, layout="constrained")
            paint(*np.atleast_1d(axes))
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None})
            plt.close(figure)
            made.append(path)
    return made


if __name__ == "__main__":
    for one in draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER):
        print(one)
    for name, value in numbers().items():
        print(f"{name}: {value}")
