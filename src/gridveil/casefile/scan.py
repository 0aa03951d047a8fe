"""MATLAB text -> the assignments in it. Nothing is executed: what is not a literal assignment is an error.

The scanner walks the top level of the file statement by statement and skips over table bodies without looking inside,
so its cost does not grow with the number of table cells. `casefile.numbers` parses the bodies. Whatever the text is,
time and memory are linear in its length: repetitions are possessive (`++`), and a line is looked at once. No message
shows a piece of the text: it may be a number that is to be protected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from gridveil.errors import CaseFileError
from gridveil.regular import regular_bytes

_GAP = rb"(?:[ \t]++|\.\.\.[^\n]*\n)*+"
_BLANK = re.compile(rb"(?:[\s;,]++|%[^\n]*|\.\.\.[^\n]*\n)++")
_FUNCTION = re.compile(
    rb"function\b" + _GAP + rb"(?:(\[[^\]\n]*\]|\w+)" + _GAP + rb"=" + _GAP + rb")?(\w+)" + _GAP + rb"(?:\([^)]*\))?"
)
_ASSIGNMENT = re.compile(rb"([A-Za-z]\w*+)(?:\.([A-Za-z]\w*+))?[ \t]*+=(?!=)" + _GAP)
_SCALAR = re.compile(
    rb"[-+]?(?:(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+|[Ii]nf|[Nn]a[Nn])(?=[ \t]*+(?:[;,%\n]|$))"
)
STRING = rb"'(?:[^'\n]++|'')*+'|\"(?:[^\"\n]++|\"\")*+\""
_STRING = re.compile(STRING)
_OF_A_TABLE = re.compile(STRING + rb"|%|\.\.\.|[\]}\n]")
_IF = re.compile(rb"if[ \t(]+(\w+)[ \t)]*(?=[;,%\n])")
_OF_A_BLOCK = re.compile(
    STRING + rb"|%[^\n]*|(^[ \t]*+)?+\b(if|for|parfor|while|switch|try|function|else|elseif|end)\b", re.MULTILINE
)
_BLOCK_COMMENT_MARK = re.compile(rb"^[ \t]*%([{}])[ \t]*$", re.MULTILINE)
_LAST_WORDS = re.compile(rb"(?:return\b[\s;,]*)?(?:end\b)?")
_FIELD = re.compile(rb"^[ \t]*\w+\.\w+[ \t]*=", re.MULTILINE)
_TERMINATOR = re.compile(rb"[ \t]*(?:[;,%\n]|$)")

SAVECASE = "run it in MATLAB or Octave and write the result with savecase(), then give that file"


@dataclass(frozen=True)
class Source:
    """The bytes of one file, able to turn an offset into an error with a line number."""

    path: Path
    text: bytes

    def line_at(self, offset: int) -> int:
        return self.text.count(b"\n", 0, offset) + 1

    def fail(self, offset: int | None, problem: str, advice: str) -> NoReturn:
        line = None if offset is None else self.line_at(offset)
        raise CaseFileError(self.path, line, problem, advice)


@dataclass(frozen=True)
class Assignment:
    """`field = literal`; `kind` is 'matrix', 'cell', 'string' or 'scalar', and text[start:stop] its inside."""

    field: str
    kind: str
    start: int
    stop: int


@dataclass(frozen=True)
class Script:
    """What a case file says, before any number is parsed."""

    name: str
    fields: dict[str, Assignment]


def load(path: Path) -> Source:
    """The text of a file."""
    return clean(path, regular_bytes(path, "check the path, or list shipped cases with 'gridveil cases'"))


def clean(path: Path, text: bytes) -> Source:
    """Bytes that were read: they must be UTF-8. Line ends become one character, block comments are blanked out."""
    if text.startswith(b"\xef\xbb\xbf"):
        text = text[3:]
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    source = Source(path, text)
    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            source.fail(error.start, "the text is not UTF-8", "save the file as UTF-8")
    if b"\0" in text:
        source.fail(text.index(b"\0"), "the file holds a NUL byte", "give a text file in MATPOWER's .m format")
    # the first of these tests alone is far faster and almost always enough
    return _without_block_comments(source) if b"{" in text and b"%{" in text else source


def _without_block_comments(source: Source) -> Source:
    """Blank out `%{ ... %}`, which nest; lines keep their numbers."""
    text, depth, kept, opened = bytearray(), 0, 0, 0
    for mark in _BLOCK_COMMENT_MARK.finditer(source.text):
        if mark[1] == b"{":
            if depth == 0:
                text += source.text[kept : mark.start()]
                opened = mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                text += b"\n" * source.text.count(b"\n", opened, mark.end())
                kept = mark.end()
    if depth:
        source.fail(opened, "this block comment never ends", "close it with a line that holds only %}")
    text += source.text[kept:]
    return Source(source.path, bytes(text))


def scan(source: Source) -> Script:
    """Split a file into its literal assignments; anything that computes is refused with its line."""
    name, struct = source.path.stem, "mpc"
    found: dict[str, Assignment] = {}
    constants: dict[bytes, float] = {}
    position = 0
    while True:
        position = _skip_blank(source.text, position)
        if position == len(source.text):
            return Script(name, found)
        if not found and (function := _FUNCTION.match(source.text, position)):
            name, struct = _function_header(source, function)
            position = function.end()
            if not _ends_statement(source.text, position):
                _refuse_statement(source, function.start())
            continue
        if off := _IF.match(source.text, position):
            position = _skip_dead_block(source, off, constants)
            continue
        if (last := _LAST_WORDS.match(source.text, position)) and last.end() > position:
            if _skip_blank(source.text, last.end()) != len(source.text):
                _refuse_statement(source, position)
            return Script(name, found)
        position = _assignment(source, position, struct, found, constants)


def _assignment(
    source: Source, position: int, struct: str, found: dict[str, Assignment], constants: dict[bytes, float]
) -> int:
    """Note the literal assignment at `position` and return where it ends; refuse anything else."""
    target = _ASSIGNMENT.match(source.text, position)
    item = _literal(source, target) if target else None
    if target is None or item is None:
        _refuse_statement(source, position)
    if target[2] is None:  # a variable of its own: only a number may be one, and only a dead `if` may use it
        if item.kind != "scalar":
            _refuse_statement(source, position)
        constants[target[1]] = float(source.text[item.start : item.stop])
    else:
        if target[1].decode() != struct:
            _refuse_statement(source, position)
        if item.field in found:
            source.fail(position, f"{struct}.{item.field} is assigned twice", "keep one of the two")
        found[item.field] = item
    end = item.stop + (0 if item.kind == "scalar" else 1)
    if not _ends_statement(source.text, end):
        _refuse_statement(source, position)
    return end


def _skip_blank(text: bytes, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _ends_statement(text: bytes, position: int) -> bool:
    """True when nothing but a terminator or a comment follows on the line (a transpose or an operator may not)."""
    return _TERMINATOR.match(text, position) is not None


def _function_header(source: Source, function: re.Match[bytes]) -> tuple[str, str]:
    output = function[1]
    if output is None or output.startswith(b"["):
        source.fail(
            function.start(),
            "the function does not return one struct, so this is not a version-2 case",
            "convert it with MATPOWER: savecase(name, loadcase(name))",
        )
    return function[2].decode(), output.decode()


def _literal(source: Source, target: re.Match[bytes]) -> Assignment | None:
    """The literal right of `=`, or `None` if there is something else."""
    text, start = source.text, target.end()
    field = (target[2] or target[1]).decode()
    opening = text[start : start + 1]
    if opening == b"[":
        return Assignment(field, "matrix", start + 1, _closing(source, start, b"]", field))
    if opening == b"{":
        return Assignment(field, "cell", start + 1, _closing(source, start, b"}", field))
    if string := _STRING.match(text, start):
        return Assignment(field, "string", start + 1, string.end() - 1)
    if scalar := _SCALAR.match(text, start):
        return Assignment(field, "scalar", start, scalar.end())
    return None


def _closing(source: Source, start: int, bracket: bytes, field: str) -> int:
    """Offset of the bracket that closes the one at `start`, not fooled by comments and strings."""
    text, position, stop = source.text, start + 1, -1
    while stop < 0:
        there = text.find(bracket, position)
        if there < 0:
            source.fail(
                start,
                f"the table {field} opens here and never ends",
                f"the file looks truncated: add the closing '{bracket.decode()}'",
            )
        line = text.rfind(b"\n", position, there) + 1 or position
        position = len(text)
        for piece in _OF_A_TABLE.finditer(text, line):
            if piece[0] == bracket:
                stop = piece.start()
                break
            if piece[0] in (b"%", b"...", b"\n"):  # the rest of the line is a comment, or there is none
                position = text.find(b"\n", piece.start()) + 1 or len(text)
                break
    if text.find(b"=", start, stop) >= 0 and (inner := _FIELD.search(text, start, stop)):
        source.fail(
            inner.start(),
            f"a new field begins before the table {field} has ended",
            f"close {field} with '{bracket.decode()}' first",
        )
    return stop


def _skip_dead_block(source: Source, match: re.Match[bytes], constants: dict[bytes, float]) -> int:
    """Skip `if NAME ... end` where NAME was set to a literal 0: it says in plain text that it is switched off.

    Only blocks whose words each begin a line are followed, and none with an `else`: anything else is refused.
    """
    if constants.get(match[1]) != 0.0:
        _refuse_statement(source, match.start())
    depth = 1
    for piece in _OF_A_BLOCK.finditer(source.text, match.end()):
        word = piece[2]
        if word is None:  # a string or a comment
            continue
        if piece[1] is None or word in (b"else", b"elseif", b"function"):
            _refuse_statement(source, match.start())
        depth += -1 if word == b"end" else 1
        if depth == 0:
            return piece.end()
    return source.fail(match.start(), "this 'if' has no 'end'", "the file looks truncated")


def _refuse_statement(source: Source, position: int) -> NoReturn:
    source.fail(position, "this is not a literal assignment, and this reader executes nothing", SAVECASE)
