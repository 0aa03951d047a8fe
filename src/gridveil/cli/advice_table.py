"""The table of `gridveil advise`: a row per setting, within 80 characters."""

from __future__ import annotations

from math import isfinite

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from gridveil.advice.choice import Choice, percent
from gridveil.advice.recommend import Advice, Line

HEADINGS = ("setting", "guess off by", "cost off by", "gap off by", "lines found", "repairs failed", "budget left",
            "least margin", "of best")  # fmt: skip
LEGEND = (
    "lines found: of those that an attacker would cut, and how many points more than by a map; of best: the share "
    "of the best margin that is reached, over the stand-ins"
)


def table(found: Advice, stamp: str) -> Table:
    """Every setting that was tried, the recommended one in bold. Lines break between words, and never within."""
    made = Table(
        title=stamp, title_style="bold red", title_justify="left", caption=LEGEND, caption_justify="left",
        box=SIMPLE_HEAD, padding=0, show_edge=False,
    )  # fmt: skip
    for heading in HEADINGS:
        made.add_column(heading.replace(" ", "\n", 1), no_wrap=True)
    for line in found.lines:
        made.add_row(*_cells(line), style="bold" if line is found.best else "")
    return made


def _cells(line: Line) -> list[str]:
    seen = line.outcome
    return [
        _setting(line.choice),
        _figure(seen.hidden_pct, "{:.1f}%"),
        _figure(seen.cost_off_pct, "{:.2f}%"),
        _figure(seen.gap_change_points, "{:.2f}"),
        _figure(seen.similarity, "{:.0f}%") + _figure(seen.excess, " ({:+.0f})"),
        f"{seen.failed} of {seen.trials}",
        "" if line.left is None else f"{line.left:.3g}",
        f"{line.score:.2f}",
        f"{line.standing:.0%}",
    ]


def _setting(choice: Choice) -> str:
    first = choice.words.split(", ε")[0]
    rest = f"ε {choice.epsilon:g}, β {percent(choice.beta)}"
    named = [] if choice.mechanism == "log" else [choice.mechanism]
    return escape("\n".join([first, rest, *named]))


def _figure(value: float, form: str) -> str:
    return form.format(value) if isfinite(value) else ""
