"""`write(case, path)`: a `Case` as MATPOWER version-2 text that reads back to the same numbers, bit for bit."""

from __future__ import annotations

import re
from math import copysign, isinf, isnan
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile import columns as c
from gridveil.casefile.case import Case, Cell
from gridveil.files import write_whole


def write(case: Case, path: Path | str, notes: tuple[str, ...] = ()) -> None:
    """Write a case as a MATPOWER file, whole or not at all: it appears under its name only when it is complete.

    Args:
        case: What to write.
        path: The `.m` file.
        notes: Lines of comment at its top.

    Raises:
        CaseFileError: It cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "mine.m"
        >>> gv.write(gv.read_case("case14_ieee"), file, notes=("my copy",))
        >>> "my copy" in file.read_text()
        True
    """
    write_whole(Path(path), to_text(case, notes))


def to_text(case: Case, notes: tuple[str, ...] = ()) -> str:
    """The text of a case file; `notes` become comment lines at its head."""
    parts = [f"%   {note}" for note in notes]
    parts += [
        f"function mpc = {_identifier(case.name)}",
        "mpc.version = '2';",
        f"mpc.baseMVA = {number_text(case.base_mva)};",
    ]
    for name in ("bus", "gen", "gencost", "branch"):
        if name == "gencost" and len(case.gencost) < len(case.gen):
            continue  # the case has no costs
        parts += ["", *_table_lines(name, getattr(case, name))]
    for name, value in case.extras.items():
        if isinstance(value, str):
            parts += ["", f"mpc.{name} = {_quoted(value)};"]
        elif isinstance(value, np.ndarray):
            parts += ["", *_table_lines(name, value)]
        else:
            parts += ["", *_cell_lines(name, value)]
    return "\n".join(parts) + "\n"


def number_text(value: float) -> str:
    """The shortest text that reads back as exactly this number."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if value.is_integer() and abs(value) < 1e15:
        return "-0.0" if value == 0 and copysign(1.0, value) < 0 else str(int(value))
    return repr(value)


def _table_lines(name: str, table: FloatArray) -> list[str]:
    rows = ["\t" + "\t".join(map(number_text, row)) + ";" for row in table.tolist()]
    header = ["%\t" + "\t".join(c.MEANING[name])] if name in c.MEANING else []
    return [*header, f"mpc.{name} = [", *rows, "];"]


def _cell_lines(name: str, cell: Cell) -> list[str]:
    def text(value: str | float) -> str:
        return _quoted(value) if isinstance(value, str) else number_text(value)

    return [f"mpc.{name} = {{", *("\t" + "\t".join(map(text, row)) + ";" for row in cell), "};"]


def _identifier(name: str) -> str:
    """A name that MATLAB takes for a function."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    return text if text[:1].isalpha() else f"case_{text}"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
