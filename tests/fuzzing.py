"""Files bent at random, by a seed: bytes changed, lines lost or doubled, cells replaced by what nobody expects."""

from __future__ import annotations

import random
from pathlib import Path

from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats.registry import by_name

ODD = (
    b"", b"-1", b"0", b"1e308", b"-1e-320", b"nan", b"inf", b"1e999", b"x", b"'", b'"', b"/", b",", b"1_0", b"9" * 400,
    b"99999999", b"null", b"true", b"[]", b"{}", b"\xff", b"\xc3\xa9", b"@!", b"0 /", b"Q", b"1.5", b"3", b"4", b"-", b"\t",
)  # fmt: skip


def bent(chance: random.Random, data: bytes) -> bytes:
    """A file with a few faults in it."""
    for _ in range(chance.randint(1, 4)):
        kind = chance.randrange(6)
        at = chance.randrange(len(data) + 1)
        if kind == 0:
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at]
        else:
            cut = b"\n" if kind < 4 else b","
            parts = data.split(cut)
            place = chance.randrange(len(parts))
            new = {2: [], 3: [parts[place]] * 2, 4: [chance.choice(ODD)], 5: [parts[chance.randrange(len(parts))]]}[
                kind
            ]
            data = cut.join([*parts[:place], *new, *parts[place + 1 :]])
    return data


def survive(form: str, originals: list[bytes], count: int, seed: int) -> tuple[int, set[str]]:
    """Read so many bent files: each makes a case or a sentence. How many made a case, and all problems."""
    chance, read, good = random.Random(seed), by_name(form).read(), 0
    said: set[str] = set()
    for _ in range(count):
        data = bent(chance, chance.choice(originals))
        try:
            read(Path("bent"), data)
            good += 1
        except CaseFileError as error:
            assert error.problem and error.advice
            said.add(error.problem)
        except GridVeilError as error:
            said.add(str(error))
    return good, said
