"""The text of a RAW file -> its header and tables of cells. Free format as PSS/E reads it: commas between cells, or
blanks where a line has none; text in quotes; `/` begins a comment, a record 0 ends a section, Q ends the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from gridveil.errors import CaseFileError
from gridveil.formats.raw_layout import ALSO, REVISIONS, WORDS, fields, sections, transformer_records
from gridveil.formats.raw_table import Table

_END = re.compile(r"\s*0\s*(?:[/,\s]|$)|\s*[qQ]\s*$")
_LAST = re.compile(r"\s*[qQ]\s*$")
_NEXT = re.compile(r"BEGIN\s+([A-Z/ \-]+)", re.IGNORECASE)
_PIECE = re.compile(r"""\s*+('[^']*+'|"[^"]*+"|[^,'"/]*+)\s*+(,|/|$)""")
_WORD = re.compile(r"""'[^']*'|"[^"]*"|[^\s'"/]+|/""")
_SYSTEM_WIDE = re.compile(r"\s*[A-Za-z]")
_SKIPPED = ("area", "zone", "iatrans", "owner", "impcor", "substation")
_LINES = {"twotermdc": 3, "vscdc": 3}
_MAY_LACK = ("gne", "indmach", "substation")
"""Sections that files without a final Q may leave out: nothing after them, or nothing that the model has."""


@dataclass(frozen=True)
class RawText:
    """A RAW file taken apart. `names` says whether text was not UTF-8."""

    path: Path
    base: str
    revision: int
    tables: dict[str, Table]
    corrections: bool
    nodes: bool
    latin: bool


def take_apart(path: Path, data: bytes) -> RawText:
    """The header and all tables of a file."""
    text, latin = _decoded(path, data)
    lines = _Lines(path, text)
    base, revision = _header(lines)
    tables: dict[str, Table] = {}
    skipped: dict[str, int] = {}
    for section in sections(revision):
        if section != "bus":
            lines.check_next(section)
        if section in _SKIPPED:
            skipped[section] = lines.skip(last=section == "substation")
        else:
            tables[section] = _table(lines, section, revision)
        if lines.cut_off and section not in _MAY_LACK:
            lines.fail("the file ends before its sections do", "it looks truncated: write it again")
    return RawText(path, base, revision, tables, skipped.get("impcor", 0) > 0, skipped.get("substation", 0) > 0, latin)


class _Lines:
    """The lines of a file one after the other, without those that begin with @!, each with its number."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        lines = text.split("\n")
        if "@!" in text:
            kept = [(at + 1, line) for at, line in enumerate(lines) if not line.lstrip().startswith("@!")]
            self.numbers, self.lines = [at for at, _ in kept], [line for _, line in kept]
        else:
            self.numbers, self.lines = list(range(1, len(lines) + 1)), lines
        self.at = 0
        self.ended = self.cut_off = False

    def fail(self, problem: str, advice: str, back: int = 0) -> NoReturn:
        at = min(max(self.at - back, 0), len(self.numbers) - 1)
        raise CaseFileError(self.path, self.numbers[at] if self.numbers else None, problem, advice)

    def take(self) -> str:
        """The next line, whatever it is."""
        if self.at >= len(self.lines):
            self.fail("the file ends within a record", "it looks truncated: write it again")
        self.at += 1
        return self.lines[self.at - 1]

    def record(self) -> str | None:
        """The next line of a section, or None at its end."""
        while True:
            if self.ended:
                return None
            if self.at >= len(self.lines):
                self.ended = self.cut_off = True
                return None
            line = self.take()
            start = line.lstrip()[:1]
            if not start:
                continue
            if start in "0qQ" and _END.match(line):
                self.ended = _LAST.match(line) is not None
                return None
            return line

    def skip(self, *, last: bool) -> int:
        """Pass over a section, or over all that is left; how many lines it had."""
        count = 0
        while self.record() is not None or (last and not self.ended):
            count += 1
        return count

    def check_next(self, expected: str) -> None:
        """The comment that ended the section before must not announce another one than the revision has."""
        if self.ended or (found := _NEXT.search(self.lines[self.at - 1])) is None:
            return
        said = " ".join(found[1].upper().split())
        names = [name for name, words in WORDS.items() if said.startswith(words.replace(" DATA", ""))]
        names += [name for words, name in ALSO.items() if said.startswith(words)]
        if names and expected not in names:
            self.fail(
                f"the section {WORDS[names[0]]} begins where this revision has {WORDS[expected]}",
                "the header names another revision than the file has, or a section is missing", back=1,
            )  # fmt: skip


def _decoded(path: Path, data: bytes) -> tuple[str, bool]:
    if b"\0" in data:
        raise CaseFileError(path, None, "the file holds a NUL byte", "save it as plain text (UTF-8)")
    latin = False
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:  # names in the code page of some Windows: nothing but names can have such characters
        text, latin = data.decode("latin-1"), True
    return (text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text), latin


def _header(lines: _Lines) -> tuple[str, int]:
    """Base and revision; then two lines of titles, and from revision 34 on the system-wide data."""
    while lines.at < len(lines.lines) and not lines.lines[lines.at].strip():
        lines.at += 1
    first = _cells(lines, lines.take())
    cells = [cell.strip() for cell in first] + [""] * 3
    if cells[0] not in ("", "0"):
        lines.fail("the header does not begin with 0, so this is no whole case", "write a base case", back=1)
    if not cells[2]:
        lines.fail(
            "the header names no revision of the format, and revisions have different columns",
            "write it as revision 33: 0, 100.0, 33 / ...", back=1,
        )  # fmt: skip
    try:
        revision = float(cells[2])
    except ValueError:
        revision = 0.0
    if revision not in REVISIONS:
        lines.fail(
            "the revision in the header is none of 32, 33, 34 and 35",
            "write the case in one of these revisions with PSS/E", back=1,
        )  # fmt: skip
    lines.take()
    lines.take()
    if revision >= 34 and lines.at < len(lines.lines):
        start = lines.lines[lines.at]
        if _SYSTEM_WIDE.match(start) or (_END.match(start) and "SYSTEM-WIDE" in start.upper()):
            lines.skip(last=False)
    return cells[1], int(revision)


def _table(lines: _Lines, section: str, revision: int) -> Table:
    if section == "transformer":
        return _transformers(lines, revision)
    rows: list[list[str]] = []
    at: list[int] = []
    numbers = lines.numbers
    while (line := lines.record()) is not None:
        rows.append(_cells(lines, line))
        at.append(numbers[lines.at - 1])
        for _ in range(_more(lines, section, rows[-1])):
            lines.take()
    return Table(lines.path, section, rows, fields(section, revision), at)


def _more(lines: _Lines, section: str, first: list[str]) -> int:
    """How many lines of a record follow its first; nothing of them is needed to know whether it is in service."""
    if section == "ntermdc":
        try:
            return sum(int(cell) for cell in first[1:4])
        except ValueError:
            lines.fail("a multi-terminal DC line does not say how long it is", "correct NCONV, NDCBS, NDCLN", back=1)
    if section == "gne":
        lines.fail(
            "there is a GNE device, and this model has none", "delete it, or replace it by a load or a shunt", back=1
        )
    return _LINES.get(section, 1) - 1


def _transformers(lines: _Lines, revision: int) -> Table:
    """Transformers with the four or five lines of each joined into one row."""
    records = transformer_records(revision)
    starts = [0]
    for names in records:
        starts.append(starts[-1] + len(names))
    places = {name: starts[k] + at for k, names in enumerate(records) for at, name in enumerate(names)}
    rows: list[list[str]] = []
    numbers: list[int] = []
    while (line := lines.record()) is not None:
        numbers.append(lines.numbers[lines.at - 1])
        row = _cells(lines, line)
        two = len(row) < 3 or row[2].strip() in ("", "0")
        for k in range(1, 4 if two else 5):
            row += [""] * (starts[k] - len(row))
            row = row[: starts[k]] + _cells(lines, lines.take())
        rows.append(row)
    return Table(lines.path, "transformer", rows, places, numbers)


def _cells(lines: _Lines, line: str) -> list[str]:
    """The cells of a line; text keeps its quotes."""
    if "'" in line or '"' in line:
        parts = line.split("'")
        inside = "".join(parts[1::2])
        if '"' in line or len(parts) % 2 == 0 or "," in inside or "/" in inside:
            return _quoted(lines, line)
    if "/" in line:
        line = line[: line.index("/")]
    return line.split(",") if "," in line else _WORD.findall(line)


def _quoted(lines: _Lines, line: str) -> list[str]:
    """The same where commas or slashes stand in quotes."""
    found: list[str] = []
    at = 0
    while at <= len(line):
        piece = _PIECE.match(line, at)
        if piece is None:
            break
        found.append(piece[1])
        if piece[2] != ",":
            return found
        at = piece.end()
    words = _WORD.findall(line)
    if "/" in words:
        words = words[: words.index("/")]
    if not any("," in word for word in words if word[0] not in "'\""):  # blanks between cells
        return words
    return lines.fail("a quote is opened and not closed", "write text as 'text', without quotes within", back=1)
