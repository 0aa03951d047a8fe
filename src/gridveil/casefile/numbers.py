"""Table bodies -> arrays: one fast way for text that is plainly regular, one careful way for all the rest.

The fast way hands whole tables to SciPy's Matrix Market parser (C++, correctly rounded). That parser ignores what
follows a number on its line, so the text is first shown to hold nothing that it could skip. Whatever fails that test,
or parses oddly, goes the careful way, which reads cell by cell and can name the line of a fault. It names the column
too, but never shows the cell: logs are not the place for what a case protects.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.casefile.case import Cell
from gridveil.casefile.columns import column_name
from gridveil.casefile.scan import STRING, Assignment, Source

Bytes: TypeAlias = NDArray[np.uint8]

_COMMENT = re.compile(rb"%[^\n]*")
_NUMBER = re.compile(rb"[-+]?(?:(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+|[Ii]nf|[Nn]a[Nn])")
_STRAY_COMMA = re.compile(rb",[ \t]*,|(?:^|[;\n])[ \t]*,")
_CELL_TOKEN = re.compile(
    rb"(?P<string>" + STRING + rb")|(?P<blank>[ \t\r,]+|\.\.\.[^\n]*\n|%[^\n]*)"
    rb"|(?P<end>[;\n])|(?P<word>[^\s;,'\"%]+)"
)

_PIECE = 1 << 22  # bytes; bounds what the parser needs beside the text, at no cost in speed
_SMALL = 1 << 15
_TINY = 1 << 8  # bytes; the fast way costs more than these take, and a file may hold very many such tables
_DIGITS = b"0123456789"
_SEPARATORS = b" \t\r\n;,"
_TO_LINES = bytes.maketrans(b" \t\r;,", b"\n\n\n\n\n")
_LOWER_E = bytes.maketrans(b"E", b"e")
# After the digits of a number are deleted, what is left of it is [sign][.][e[sign]]: these are its neighbours.
_NEIGHBOURS = [256 * ord(pair[0]) + ord(pair[1]) for pair in ("-.", "+.", ".e", "-e", "+e", "e-", "e+")]
_EXPONENT_SIGN = _NEIGHBOURS[-2:]


def parse_matrix(source: Source, item: Assignment) -> FloatArray:
    """A numeric table as a 2-D array; ragged rows and non-numbers are errors with their line."""
    if item.stop - item.start < _TINY:
        return _parse_cells(source, item)
    parts: list[FloatArray] = []
    for piece in _pieces(source.text, item.start, item.stop):
        body = _COMMENT.sub(b"", piece) if b"%" in piece else piece
        if not body.strip(_SEPARATORS):
            continue
        part = _parse_regular(body)
        if part is None or (parts and part.shape[1] != parts[0].shape[1]):
            return _parse_cells(source, item)
        parts.append(part)
    table = np.concatenate(parts) if parts else np.empty((0, 0))
    table.flags.writeable = False
    return table


def _pieces(text: bytes, start: int, stop: int) -> Iterator[bytes]:
    """The rows between two offsets, about `_PIECE` bytes of them at a time: whole lines, or of a long line a part."""
    while start < stop:
        first, last = start + _PIECE, min(start + 2 * _PIECE, stop)
        end = text.find(b"\n", first, last) + 1
        if not end and (row := text.find(b";", first, last) + 1):
            line = text.rfind(b"\n", start, row) + 1 or start
            # a semicolon ends a row unless it stands in a comment; what has a continuation goes the careful way anyhow
            end = row if text.find(b"%", line, row) < 0 else 0
        end = end or text.find(b"\n", first, stop) + 1 or stop
        yield text[start:end]
        start = end


def row_line(source: Source, item: Assignment, row: int) -> int:
    """Line of the file on which row `row` (0-based) of a table begins; only errors pay for this."""
    there = next(islice(_rows(source, item), row, None), None)
    return source.line_at(item.start if there is None else there[0])


def _parse_regular(body: bytes) -> FloatArray | None:
    """The table, or `None` where the text is not plainly a rectangle of decimal numbers."""
    if b"," in body and _STRAY_COMMA.search(body):
        return None
    skeleton = body.translate(_LOWER_E, _DIGITS)
    if skeleton.translate(None, b"+-.e" + _SEPARATORS) or not _possible(skeleton):
        return None
    text: Bytes = np.frombuffer(b"\n" + body + b"\n", dtype=np.uint8)
    # Every separator sorts below '0' except ';', and of the other characters below '0' only + - . are in a number.
    inside: BoolArray = (text > ord("-")) & (text != ord(";")) | (text == ord("-")) | (text == ord("+"))
    sign = np.flatnonzero((text == ord("+")) | (text == ord("-")))
    opens = ~inside[sign - 1]
    if not _signs_and_exponents_in_place(text, sign, opens):
        return None
    starts = inside[1:] & ~inside[:-1]
    breaks = np.flatnonzero((text == ord("\n")) | (text == ord(";")))
    counts = np.add.reduceat(starts, breaks[:-1], dtype=np.int32)
    counts = counts[counts > 0]
    if counts.size == 0 or np.any(counts != counts[0]):
        return None
    table = _parse_numbers(body, int(counts.sum()))
    if table is not None and np.count_nonzero(opens) != np.count_nonzero(table < 0):
        # the parser drops the sign of a negative zero
        table = np.where(text[1:][starts] == ord("-"), -np.abs(table), table)
    return None if table is None else table.reshape(len(counts), -1)


def _parse_numbers(body: bytes, count: int) -> FloatArray | None:
    """All numbers of well-formed text, or `None` if the parser finds another count of them."""
    header = f"%%MatrixMarket matrix array real general\n{count} 1\n".encode()
    try:
        # the parser starts threads, which takes longer than a small table
        if len(body) < _SMALL or (parser := _parser()) is None:
            return np.array([float(token) for token in body.translate(_TO_LINES).split()])
        values = parser(io.BytesIO(header + body.translate(_TO_LINES) + b"\n"))
    except (ValueError, OverflowError):
        return None
    return np.asarray(values, dtype=np.float64).ravel()


def _parser() -> Callable[[io.BytesIO], NDArray[Any]] | None:
    """SciPy's, which is fast; those who only check a bundle may not have it."""
    try:
        from scipy.io import mmread  # noqa: PLC0415
    except ImportError:
        return None
    return mmread  # type: ignore[no-any-return]


def _possible(skeleton: bytes) -> bool:
    """Whether numbers, of which only + - . e are left, can have been well formed (where the digits were aside)."""
    text = np.frombuffer(skeleton, dtype=np.uint8).astype(np.uint16)
    mark = (text == ord(".")) | (text == ord("-")) | (text == ord("+")) | (text == ord("e"))
    at = np.flatnonzero(mark[:-1] & mark[1:])
    pairs = 256 * text[at] + text[at + 1]
    closed = np.isin(pairs, _EXPONENT_SIGN) & mark[np.minimum(at + 2, mark.size - 1)] & (at + 2 < mark.size)
    return bool(np.all(np.isin(pairs, _NEIGHBOURS)) and not np.any(closed))


def _signs_and_exponents_in_place(text: Bytes, sign: IntArray, opens: BoolArray) -> bool:
    """Signs open a number or an exponent, a digit or a point follows; exponents follow a digit or a point."""
    exponent = np.flatnonzero((text | 0x20) == ord("e"))  # the bit turns 'E' into 'e'
    before, after = text[sign - 1], text[sign + 1]
    behind, ahead = text[exponent - 1], text[exponent + 1]
    return bool(
        np.all(opens | ((before | 0x20) == ord("e")))
        and np.all(_digit(after) | (after == ord(".")))
        # the fast parser knows no leading '+', only one in an exponent
        and not np.any(opens & (text[sign] == ord("+")))
        and np.all(_digit(behind) | (behind == ord(".")))
        and np.all(_digit(ahead) | (ahead == ord("-")) | (ahead == ord("+")))
    )


def _digit(characters: Bytes) -> BoolArray:
    result: BoolArray = (characters >= ord("0")) & (characters <= ord("9"))
    return result


def _rows(source: Source, item: Assignment) -> Iterator[tuple[int, list[bytes]]]:
    """(offset of its line, cells) of each non-empty row, comments and continuations resolved, a line at a time."""
    cells: list[bytes] = []
    begins = position = item.start
    while position < item.stop:
        end = source.text.find(b"\n", position, item.stop) + 1 or item.stop
        code, dots, _ = source.text[position:end].partition(b"%")[0].partition(b"...")
        if b"," in code and _STRAY_COMMA.search(code):
            source.fail(position, f"a cell of {item.field} is empty", "write a number between the commas")
        rows = code.split(b";")
        for number, row in enumerate(rows, 1):
            there = row.replace(b",", b" ").split()
            begins = begins if cells else position
            cells += there
            if cells and not (dots and number == len(rows)):
                yield begins, cells
                cells = []
        position = end
    if cells:
        yield begins, cells


def _parse_cells(source: Source, item: Assignment) -> FloatArray:
    values, width = array("d"), 0
    for offset, cells in _rows(source, item):
        width = width or len(cells)
        if len(cells) != width:
            source.fail(
                offset, f"this row of {item.field} has {len(cells)} columns where the first has {width}",
                "give every row of the table the same number of columns",
            )  # fmt: skip
        for column, cell in enumerate(cells):
            if _NUMBER.fullmatch(cell) is None:
                source.fail(
                    offset, f"{column_name(item.field, column)} in {item.field} is not a number",
                    "write a plain decimal number, Inf or NaN there",
                )  # fmt: skip
        values.extend(map(float, cells))
    return np.array(values).reshape(-1, width) if width else np.empty((0, 0))


def parse_cell(source: Source, item: Assignment) -> Cell:
    """A cell array of strings and numbers, row by row."""
    rows: list[tuple[str | float, ...]] = []
    row: list[str | float] = []
    position = item.start
    while position < item.stop:
        token = _CELL_TOKEN.match(source.text, position, item.stop)
        if token is None:
            source.fail(
                position, f"the cell array {item.field} holds text this reader cannot split", "quote each string with '"
            )
        if token["string"] is not None:
            row.append(unquote(token["string"]))
        elif token["word"] is not None:
            if _NUMBER.fullmatch(token["word"]) is None:
                source.fail(
                    position, f"a cell of {item.field} is neither a string nor a number", "quote each string with '"
                )
            row.append(float(token["word"]))
        elif token["end"] is not None and row:
            rows.append(tuple(row))
            row = []
        position = token.end()
    if row:
        rows.append(tuple(row))
    if len({len(one) for one in rows}) > 1:
        source.fail(item.start, f"the rows of the cell array {item.field} differ in length", "make them equal")
    return tuple(rows)


def unquote(literal: bytes) -> str:
    """The text of a MATLAB string literal, doubled quotes undone."""
    quote = literal[:1]
    return literal[1:-1].replace(quote * 2, quote).decode()
