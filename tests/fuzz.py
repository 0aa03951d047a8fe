"""Files that somebody broke: bytes flipped, cut, doubled and moved, and values of JSON replaced by what does not belong."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

JUNK: tuple[Any, ...] = (
    None, True, False, "", "x", "1", -1, 0, 1, 2.5, 1e308, -1e308, 1e-308, 10**30, -(10**18), [], [1], [[1]], {}, {"a": 1},
    "NaN", "Infinity", float("inf"), float("nan"), "\x00", "é", "1e5", [None, None], 3, "ref", "CURVE",
)  # fmt: skip
TOKENS = (
    b"0", b"-1", b"1e999", b"nan", b"inf", b"-inf", b'"', b",", b"\n", b"{", b"}", b"[", b"]", b"\x00", b"\xff", b"9" * 400,
    b"true", b"null", b"1e308", b"-0", b"'", b";",
)  # fmt: skip


def broken(data: bytes, luck: random.Random) -> bytes:
    """One to four changes of a file."""
    if data[:1] == b"{" and luck.random() < 0.5:
        return _replaced(data, luck)
    content = bytearray(data)
    for _ in range(luck.randint(1, 4)):
        place, size = luck.randrange(len(content) + 1), luck.choice((1, 1, 2, 8, 50, 1000))
        match luck.randrange(6):
            case 0:
                content[place : place + size] = luck.randbytes(size)
            case 1:
                del content[place : place + size]
            case 2:
                content[place:place] = content[place : place + size]
            case 3:
                content[place : place + size] = luck.choice(TOKENS)
            case 4 if place < len(content):
                content[place] ^= 1 << luck.randrange(8)
            case _:
                del content[max(place, 10) :]
    return bytes(content)


def broken_folder(files: Mapping[str, bytes], luck: random.Random) -> dict[str, bytes]:
    """A folder with a file that is broken, gone or under another name."""
    result, name = dict(files), luck.choice(sorted(files))
    match luck.randrange(8):
        case 0:
            del result[name]
        case 1:
            result[luck.choice(sorted(files))] = result.pop(name)
        case _:
            result[name] = broken(files[name], luck)
    return result


def _replaced(data: bytes, luck: random.Random) -> bytes:
    """JSON with values replaced, keys gone or under another name; JSON within JSON too."""
    value = json.loads(data)
    for _ in range(luck.randint(1, 3)):
        _spoil(value, luck)
    return json.dumps(value).encode()


def _spoil(value: Any, luck: random.Random) -> None:
    while True:
        if not isinstance(value, dict | list) or not value:
            return
        key = luck.choice(list(value)) if isinstance(value, dict) else luck.randrange(len(value))
        if isinstance(value[key], str) and value[key].startswith("{"):
            inner = json.loads(value[key])
            _spoil(inner, luck)
            value[key] = json.dumps(inner)
            return
        if isinstance(value[key], dict | list) and value[key] and luck.random() < 0.9:
            value = value[key]
            continue
        if luck.random() < 0.2:
            del value[key]
        elif luck.random() < 0.1 and isinstance(value, dict):
            value[luck.choice(("index", "bus", "1", "name"))] = value.pop(key)
        else:
            value[key] = deepcopy(luck.choice(JUNK))
        return
