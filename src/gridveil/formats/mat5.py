"""Variables of a MATLAB 5 file: arrays of numbers, texts, cells and structs of these, and nothing else.

The file says its sizes at every turn, so each is held against what is there before anything is made of it; what is
compressed is unpacked up to the limit of input files; and what nests deeper than a case is refused. SciPy's reader does
none of this, and loads objects.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gridveil.errors import CaseFileError
from gridveil.regular import refuse_size

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_UTF8, _UTF16 = 16, 17
_MATRIX, _COMPRESSED = 14, 15
_FLAGS, _SIZES = 6, 5
_CELL, _STRUCT, _CHAR = 1, 2, 4
_NUMERIC = range(6, 16)
_COMPLEX = 0x0800
_DEEPEST = 8
_HEADER = 128


@dataclass(frozen=True)
class _File:
    """A file of which errors speak, and the order of its bytes."""

    path: Path
    order: str

    def fail(self, problem: str) -> NoReturn:
        raise CaseFileError(self.path, None, problem, "save the case anew in MATLAB with save('-v7', ...)")

    def elements(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """(type, content) of one element after another; small ones stand in their own tag."""
        place = 0
        while place < len(data):
            if len(data) - place < 8:
                self.fail("the file ends in the middle of an element")
            word, size = struct.unpack_from(f"{self.order}II", data, place)
            if word >> 16:
                kind, size, start, step = word & 0xFFFF, word >> 16, place + 4, 8
                if size > 4:
                    self.fail("a short element is longer than its place")
            else:
                kind, start = word, place + 8
                step = 8 + size + (0 if kind == _COMPRESSED else -size % 8)
            if start + size > len(data):
                self.fail("an element is longer than the file")
            yield kind, data[start : start + size]
            place += step

    def numbers(self, kind: int, content: memoryview) -> np.ndarray[Any, np.dtype[Any]]:
        """The numbers of an element, whatever their type."""
        if kind not in _NUMBERS:
            self.fail("there are numbers of a type that a case has none of")
        dtype = np.dtype(self.order + _NUMBERS[kind])
        if len(content) % dtype.itemsize:
            self.fail("an array has a broken last number")
        return np.frombuffer(content, dtype)

    def matrix(self, content: memoryview, depth: int = 0) -> tuple[str, Any]:
        """Name and value of an array."""
        if depth > _DEEPEST:
            self.fail("structs and cells nest deeper than in any case")
        if not len(content):
            return "", np.zeros((0, 0))
        parts = self.elements(content)
        flags, dims = self._whole(parts, _FLAGS), self._whole(parts, _SIZES)
        name = bytes(self._next(parts)[1]).decode("ascii", "replace")
        if len(flags) != 2 or len(dims) != 2 or min(dims) < 0:
            self.fail("an array does not say its kind and its two dimensions")
        kind, count = flags[0] & 0xFF, dims[0] * dims[1]
        if kind in _NUMERIC:
            return name, self._numeric(parts, dims, complex_=bool(flags[0] & _COMPLEX))
        if kind == _CHAR:
            return name, self._text(parts, dims)
        if kind == _CELL:
            return name, [self._value(one, depth) for one in self._exactly(parts, count)]
        if kind != _STRUCT:
            self.fail("there is an object, a sparse matrix or a function, which no case needs")
        return name, self._struct(parts, count, depth)

    def _next(self, parts: Iterator[tuple[int, memoryview]]) -> tuple[int, memoryview]:
        found = next(parts, None)
        if found is None:
            self.fail("an array ends before its parts do")
        return found

    def _whole(self, parts: Iterator[tuple[int, memoryview]], wanted: int) -> list[int]:
        """The whole numbers that say what an array is."""
        kind, content = self._next(parts)
        if kind != wanted:
            self.fail("an array does not say its kind and its two dimensions")
        return [int(value) for value in self.numbers(kind, content)]

    def _exactly(self, parts: Iterator[tuple[int, memoryview]], count: int) -> Iterator[tuple[int, memoryview]]:
        for _ in range(count):
            yield self._next(parts)

    def _value(self, element: tuple[int, memoryview], depth: int) -> Any:
        if element[0] != _MATRIX:
            self.fail("a field is no array")
        return self.matrix(element[1], depth + 1)[1]

    def _numeric(self, parts: Iterator[tuple[int, memoryview]], dims: list[int], *, complex_: bool) -> Any:
        if complex_:
            self.fail("there are complex numbers, which no case has")
        values = self.numbers(*self._next(parts))
        if len(values) != dims[0] * dims[1]:
            self.fail("an array has more or fewer numbers than its dimensions say")
        return values.astype(np.float64).reshape(dims, order="F")

    def _text(self, parts: Iterator[tuple[int, memoryview]], dims: list[int]) -> str:
        kind, content = self._next(parts)
        if kind in (_UTF8, _UTF16):
            coding = "utf-8" if kind == _UTF8 else ("utf-16-le" if self.order == "<" else "utf-16-be")
            letters = bytes(content).decode(coding, "replace")
        else:
            letters = "".join(chr(int(code)) for code in self.numbers(kind, content) if 0 <= code < 0xD800)
        return letters[:: max(dims[0], 1)]  # column by column: the first row

    def _struct(self, parts: Iterator[tuple[int, memoryview]], count: int, depth: int) -> dict[str, Any]:
        length, names = self._whole(parts, _SIZES), bytes(self._next(parts)[1])
        size = length[0] if len(length) == 1 else 0
        if count != 1 or not 0 < size <= 64 or len(names) % size:
            self.fail("a struct is not one record with named fields")
        keys = [names[i : i + size].split(b"\0")[0].decode("ascii", "replace") for i in range(0, len(names), size)]
        if len(set(keys)) < len(keys):
            self.fail("a field stands twice in a struct")
        return {key: self._value(self._next(parts), depth) for key in keys}


def variables(path: Path, data: bytes) -> dict[str, Any]:
    """The variables of a file by name: arrays, texts, lists (cells) and dicts (structs)."""
    if data[:8] == b"\x89HDF\r\n\x1a\n" or data[:15] == b"MATLAB 7.3 MAT-":
        raise CaseFileError(path, None, "this is a MATLAB 7.3 file", "save it in MATLAB with save('-v7', ...)")
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128])
    if len(data) < _HEADER or order is None:
        raise CaseFileError(path, None, "this is not a MATLAB 5 file", "save it in MATLAB with save('-v7', ...)")
    file = _File(path, order)
    found: dict[str, Any] = {}
    unpacked = len(data)
    for outer, content in file.elements(memoryview(data)[_HEADER:]):
        elements = iter([(outer, content)])
        if outer == _COMPRESSED:
            plain = _unpacked(file, content, unpacked)
            unpacked += len(plain)
            elements = file.elements(memoryview(plain))
        for kind, body in elements:
            if kind != _MATRIX:
                file.fail("there is something beside arrays")
            name, value = file.matrix(body)
            if name in found:
                file.fail("a variable stands twice")
            found[name] = value
    return found


def _unpacked(file: _File, content: memoryview, before: int) -> bytes:
    """What is in a compressed element, piece by piece: a small file may hold any number of zeros."""
    unpacker, pieces, size = zlib.decompressobj(), list[bytes](), before
    rest = bytes(content)
    while rest and not unpacker.eof:
        try:
            piece = unpacker.decompress(rest, 1 << 24)
        except zlib.error:
            file.fail("what is compressed cannot be unpacked")
        size += len(piece)
        refuse_size(file.path, size)
        pieces.append(piece)
        if not piece and unpacker.unconsumed_tail == rest:
            break
        rest = unpacker.unconsumed_tail
    return b"".join(pieces)
