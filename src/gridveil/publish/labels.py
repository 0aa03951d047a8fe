"""Words that somebody else chose and a release carries: whoever reads them sees every character they hold."""

from __future__ import annotations

from itertools import groupby
from unicodedata import category

LONGEST_LABEL = 100
"""Letters of a name or an id that is kept."""
INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
"""Unicode's categories of what is not shown, or is whatever a font makes of it."""
IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks that are nothing on paper: a joiner, fillers, a braille pattern without dots."""
STACK = 2
"""Marks on one letter: Vietnamese and Hebrew need as many, and of more nobody could tell how many there are."""


def fit_label(text: str) -> bool:
    """May a name or an id stand in a release: a short line that shows all it holds?"""
    return len(text) <= LONGEST_LABEL and shows_all(text)


def shows_all(words: str) -> bool:
    """Does a reader see every character of a line? Variation selectors, too, could carry a message unseen."""
    if words != " ".join(words.split()) or _stacked(words) > STACK:
        return False
    return not any(
        category(one) in INVISIBLE
        or one in IGNORABLE
        or "\u180b" <= one <= "\u180f"
        or "\ufe00" <= one <= "\ufe0f"
        or "\U000e0000" <= one <= "\U000e0fff"
        for one in words
    )


def _stacked(words: str) -> int:
    """The most marks without a width of their own that follow each other."""
    runs = groupby(category(one) in ("Mn", "Me") for one in words)
    return max((len(list(run)) for mark, run in runs if mark), default=0)
