"""Case files that are almost case files: reading one gives a case or a sentence, never anything else, and soon."""

from __future__ import annotations

import random
import re
import warnings
from importlib.resources import files
from pathlib import Path
from time import process_time

from gridveil.casefile import read
from gridveil.casefile.to_network import to_network
from gridveil.errors import CaseFileError, GridVeilError
from tests.conftest import TINY

from .campaigns import timed
from .record import Record

SLOW = 5.0
"""Seconds of processor time for a few kilobytes."""
ODD = (
    "nan", "NaN", "inf", "-Inf", "1e400", "-1e-400", "1e308", "0", "-0", "2", "1.5", "-1", "99999999999999999999", "0x10",
    "1e", "--1", ".", "e5", "1..2", "i", "1+2", "true", "[]", "{}", "'", '"', "''", "%", "%{", "%}", "...", ";", ",", "=",
    "]", "[", "};", "];", "\n", "\r", "\r\n", "\t", "\0", "\ufeff", "é", "𝟙", "\u2028", "mpc", "mpc.bus", "mpc.bus = [", "end",
    "function", "mpc.gen = zeros(3, 21);", "mpc.bus(1, 3) = 5;", "mpc.bus = ", "for", "1:3", "ones(2)", "(", ")", "@", "!",
)  # fmt: skip
_TOKEN = re.compile(r"[^\s;,\[\]=]+|[;,\[\]=]|\s+")


def originals() -> list[str]:
    """What is mutated."""
    shipped = files("gridveil.cases")
    return [TINY, *((shipped / name).read_text() for name in ("case3_lmbd.m", "case5_pjm.m", "case14_ieee.m"))]


def mutated(text: str, luck: random.Random) -> bytes:
    """A file with a few things changed."""
    for _ in range(luck.choice((1, 1, 1, 2, 3, 8))):
        text = luck.choice((_token, _token, _lines, _cut, _splice, _characters))(text, luck)
    data = bytearray(text.encode("utf-8", errors="surrogatepass"))
    if luck.random() < 0.15 and data:
        for _ in range(luck.randint(1, 5)):
            data[luck.randrange(len(data))] = luck.randrange(256)
    return bytes(data)


def _token(text: str, luck: random.Random) -> str:
    """One word becomes an odd one, another, or none."""
    words = _TOKEN.findall(text)
    if words:
        other = luck.choice((luck.choice(ODD), luck.choice(words), "", words[0] * luck.randint(1, 3)))
        words[luck.randrange(len(words))] = other
    return "".join(words)


def _lines(text: str, luck: random.Random) -> str:
    """Lines swap places, are doubled, or vanish."""
    rows = text.splitlines(keepends=True) or [""]
    one, other = luck.randrange(len(rows)), luck.randrange(len(rows))
    kind = luck.randrange(3)
    if kind == 0:
        rows[one], rows[other] = rows[other], rows[one]
    elif kind == 1:
        rows.insert(one, rows[other] * luck.randint(1, 4))
    else:
        del rows[min(one, other) : max(one, other)]
    return "".join(rows)


def _cut(text: str, luck: random.Random) -> str:
    """It ends early, or begins late."""
    at = luck.randrange(len(text) + 1)
    return luck.choice((text[:at], text[at:]))


def _splice(text: str, luck: random.Random) -> str:
    """A piece of it stands elsewhere too."""
    start, where = luck.randrange(len(text) + 1), luck.randrange(len(text) + 1)
    return text[:where] + text[start : start + luck.randint(1, 200)] + text[where:]


def _characters(text: str, luck: random.Random) -> str:
    """Something odd is put in."""
    where = luck.randrange(len(text) + 1)
    return text[:where] + luck.choice(ODD) * luck.choice((1, 1, 2, 50)) + text[where:]


def fuzz(folder: Path, count: int, seed: int) -> Record:
    """Read mutated files, and make networks of those that can be read."""
    path, texts = folder / "case.m", originals()
    with timed("mutated case files") as record, warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(count):
            luck = random.Random(f"{seed}/{number}")
            path.write_bytes(mutated(luck.choice(texts), luck))
            begin = process_time()
            kind, wrong = _one(path)
            if process_time() - begin > SLOW:
                wrong = [*wrong, f"{process_time() - begin:.1f} s"]
            record.add(kind, [f"seed {seed}/{number}: {one}" for one in wrong])
    return record


def _one(path: Path) -> tuple[str, list[str]]:
    try:
        case = read(path)
    except CaseFileError as error:
        return "refused", [] if str(path) in str(error) else [f"a sentence without the file: {error}"]
    except BaseException as error:  # noqa: BLE001 - what is looked for
        return "failed", [f"read: {type(error).__name__}: {error}"]
    try:
        to_network(case)
    except GridVeilError:
        return "read, but no network", []
    except BaseException as error:  # noqa: BLE001 - what is looked for
        return "failed", [f"to_network: {type(error).__name__}: {error}"]
    return "read", []
