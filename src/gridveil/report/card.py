"""A card: what a notebook shows of a result. Facts, a word on who may see it, and where there is one a small map.

No script, no outside file; styles hold inside the card alone. Text and map take the colour of the page around them, and
badges have their own, so that light and dark notebooks need nothing said.
"""

from __future__ import annotations

from enum import StrEnum
from html import escape
from typing import NamedTuple


class Tone(StrEnum):
    """Whom a badge speaks to."""

    GOOD = "good"
    WARN = "warn"
    INTERNAL = "internal"
    PLAIN = "plain"


class Badge(NamedTuple):
    """A few words that are seen first."""

    words: str
    tone: Tone


class Card(NamedTuple):
    """What is on a card."""

    title: str
    facts: tuple[tuple[str, str], ...]
    badges: tuple[Badge, ...] = ()
    picture: str = ""
    """SVG, made here."""
    foot: str = ""


STYLE = (
    ".gridveil-card{font:13px/1.45 system-ui,sans-serif;border:1px solid rgba(128,128,128,.45);border-radius:8px;"
    "padding:10px 14px;max-width:760px;box-sizing:border-box;color:inherit}"
    ".gridveil-card .gv-h{display:flex;flex-wrap:wrap;gap:6px 8px;align-items:center;margin-bottom:6px}"
    ".gridveil-card .gv-t{font-weight:600;font-size:14px;margin-right:4px}"
    ".gridveil-card .gv-b{border-radius:9px;padding:1px 8px;font-size:11.5px;font-weight:600;color:#fff}"
    ".gridveil-card .gv-good{background:#1f7a4d}.gridveil-card .gv-warn{background:#b0500f}"
    ".gridveil-card .gv-internal{background:#a3264b}.gridveil-card .gv-plain{background:#5b6570}"
    ".gridveil-card .gv-y{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-start}"
    ".gridveil-card dl{display:grid;grid-template-columns:auto 1fr;gap:1px 14px;margin:0;flex:1 1 280px}"
    ".gridveil-card dt{opacity:.72;font-weight:400;margin:0;padding:0}"
    ".gridveil-card dd{margin:0;padding:0;font-variant-numeric:tabular-nums}"
    ".gridveil-card svg{width:300px;max-width:100%;height:auto;flex:0 1 300px}"
    ".gridveil-card svg path{fill:none}.gridveil-card .gv-l{stroke:currentColor;stroke-opacity:.45;stroke-width:1}"
    ".gridveil-card .gv-m{stroke:#e0561b;stroke-width:2.4}"
    ".gridveil-card svg circle{fill:currentColor;fill-opacity:.75}"
    ".gridveil-card svg .gv-g{fill:#2f86d6;fill-opacity:1}"
    ".gridveil-card .gv-f{opacity:.8;font-size:12px;margin-top:7px}"
)


def html(card: Card) -> str:
    """A card as HTML; all words are escaped, pictures are our own."""
    badges = "".join(f'<span class="gv-b gv-{one.tone}">{escape(one.words)}</span>' for one in card.badges)
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in card.facts)
    foot = f'<div class="gv-f">{escape(card.foot)}</div>' if card.foot else ""
    return (
        f'<div class="gridveil-card"><style>{STYLE}</style>'
        f'<div class="gv-h"><span class="gv-t">{escape(card.title)}</span>{badges}</div>'
        f'<div class="gv-y"><dl>{facts}</dl>{card.picture}</div>{foot}</div>'
    )
