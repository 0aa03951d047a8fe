"""Blocks of code in Markdown pages: what they are, what should come out, and whether the words of a run are those.

A `python` block runs after those above it in one namespace; a block without a language, or with `text`, that follows at
once is what it prints, to the letter. In a `console` block lines that begin with `$ ` are commands and the rest is what
they print. A line `...` stands for lines left out. `<!-- not run: why -->` above a block says that it is not run.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+?) -->\n+)?^```(?P<kind>[\w-]*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Block:
    """One block of code, and where it begins."""

    kind: str
    code: str
    line: int
    printed: str | None
    why_not: str | None


def pages() -> list[Path]:
    """The README and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """The blocks of a page in their order."""
    found = list(BLOCK.finditer(text))
    made: list[Block] = []
    for one, after in zip_longest(found, found[1:]):
        told = after is not None and after["kind"] in ("", "text") and not text[one.end() : after.start()].strip()
        printed = after["code"] if told and after is not None and one["kind"] == "python" else None
        made.append(Block(one["kind"], one["code"], text.count("\n", 0, one.start()) + 1, printed, one["why"]))
    return made


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints. A line that ends with a backslash goes on."""
    parts = re.split(r"^\$ ", block.code.replace("\\\n", " "), flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block begins with a command"
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts[1:])]


def words_of(command: str) -> list[str]:
    """A command as the shell splits it; what stands behind `#` is a comment."""
    return shlex.split(command, comments=True)


def as_told(told: str, printed: str) -> bool:
    """Did a run print what the page says? Lines may be left out."""
    pattern = "".join(".*" if line == "..." else re.escape(line) + r"\s*?\n" for line in told.rstrip().split("\n"))
    return re.fullmatch(pattern + r"\s*", printed.rstrip() + "\n", re.DOTALL) is not None


def missing_words(told: str, printed: str) -> list[str]:
    """Words of a page that a run does not print. Numbers are those of one draw, and tables are as wide as a terminal."""
    return sorted((Counter(WORD.findall(told)) - Counter(WORD.findall(printed))).elements())
