"""`released.m` in other formats, from its bytes alone: read, written, read again and compared before anyone sees it.

As a process of its own it has never seen anything else: it loads what it needs, closes its doors, and only then gets
the bytes of a released network.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gridveil import cases
from gridveil.casefile.labels import labels
from gridveil.casefile.read import read_bytes
from gridveil.errors import GridVeilError
from gridveil.formats.archive import archive_files
from gridveil.formats.compare import differences
from gridveil.formats.convert import Converted, convert
from gridveil.formats.imported import Identity, Imported, numbered
from gridveil.formats.lend import COSTS, LIMITS, lend_bytes
from gridveil.formats.losses import held
from gridveil.formats.registry import BESIDE, TRANSLATIONS, Format, by_name
from gridveil.packing import packed
from gridveil.process.confine import confine

NETWORK = "released.m"
LENDABLE = ("costs", "angle limits", "transformer charging")
"""What a format may lack and files beside it have."""
SMALL = b"""function mpc = small
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [1 3 0 0 0 0 1 1 0 110 1 1.1 0.9; 2 1 50 10 0 5 1 1 0 20 1 1.1 0.9; 3 2 1 1 0 0 1 1 0 110 1 1.1 0.9];
mpc.gen = [1 50 0 50 -50 1 100 1 90 0 0 0 0 0 0 0 0 0 0 0 0; 3 0 0 9 -9 1 100 1 9 0 0 0 0 0 0 0 0 0 0 0 0];
mpc.branch = [1 2 0.01 0.1 0 60 0 0 1.02 0 1 -30 30; 1 3 0.01 0.1 0.02 60 0 0 0 0 1 -30 30];
mpc.gencost = [2 0 0 3 0.1 20 0; 2 0 0 2 30 0 0];
mpc.bus_name = {'a'; 'b'; 'c'};
"""
"""On this and on the shipped cases everything is tried once before the doors are closed: behind them no module can be
loaded, and NumPy loads some of its own when they are first used."""
FORBIDDEN = ("gridveil.sealed", "gridveil.privacy", "gridveil.publish", "gridveil.repair")


def translate(released: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """The files of some formats by their names in a bundle, with those of costs and limits beside them."""
    case = read_bytes(NETWORK, released)
    known, plain = labels(case), numbered(case)
    identity = Identity(known.branch_id or plain.circuit, known.gen_id or plain.machine, known.bus_name)
    found = held(Imported(replace(case, extras={}), identity), ("long ids",))
    files: dict[str, bytes] = {}
    for form in map(by_name, names):
        made = convert(found, form)
        _compare(form, made, found)
        files[TRANSLATIONS[form.name]] = made.main if isinstance(made.main, bytes) else packed(made.main)
        files |= {BESIDE[ending]: data for ending, data in made.beside.items()}
    return files


def _compare(form: Format, made: Converted, found: Imported) -> None:
    """Read a file again: it must hold what the format can, and with the files beside it costs and limits too."""
    path = Path(TRANSLATIONS[form.name])
    data = made.main if isinstance(made.main, bytes) else archive_files(path, packed(made.main))
    again = form.read()(path, data)
    state = "state" not in form.cannot_hold
    faults = differences(made.kept, again, state=state)
    if not faults and made.beside:
        again = lend_bytes(again, made.beside.get(COSTS), made.beside.get(LIMITS))
        rest = tuple(one for one in form.cannot_hold if one not in LENDABLE)
        faults = differences(held(found, rest), again, state=state)
    if faults:
        raise GridVeilError(f"{form.words} does not hold this network: {'; '.join(faults[:3])}")


def main() -> None:
    """In a process of its own: a line of formats, then the bytes of released.m; one archive of files comes out."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        names = sys.stdin.buffer.readline().decode("ascii").split()
        for network in (SMALL, *(path.read_bytes() for name in cases.names() if (path := cases.path(name)))):
            translate(network, names)
        confine()
        files = translate(sys.stdin.buffer.read(), names)
    except GridVeilError as failure:
        sys.exit(str(failure))
    except Exception:  # noqa: BLE001 - the network is public: its parent may say all of it
        sys.exit(traceback.format_exc(limit=-3))
    if reached := [name for name in sys.modules if name.startswith(FORBIDDEN)]:
        sys.exit(f"the translating process has loaded {', '.join(sorted(reached))}")
    answers.write(packed(files))
    answers.flush()
