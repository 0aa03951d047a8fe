"""`read(path) -> Case`: text in, checked tables out. A `Case` that comes from here always makes a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.casefile.case import Case, Extra
from gridveil.casefile.check import InText, check_case
from gridveil.casefile.numbers import parse_cell, parse_matrix, unquote
from gridveil.casefile.scan import Assignment, Source, clean, load, scan

_TABLES = ("bus", "gen", "branch", "gencost")

# Fields that MATPOWER's OPF turns into constraints or costs of its own; leaving them out would change the problem.
USER_TERMS = ("A", "l", "u", "N", "fparm", "H", "Cw", "z0", "zl", "zu", "user_constraints", "user_costs")

LARGEST_BASE = 1e9
"""MVA; and the least is one by so much."""


def read(path: Path | str) -> Case:
    """Read a MATPOWER version-2 case file. A file of more than 512 MB is refused, unless GRIDVEIL_MAX_SIZE (in MB) in
    the environment says otherwise.

    Args:
        path: A `.m` file; it is read, never executed.

    Returns:
        Its tables.

    Raises:
        CaseFileError: With the line and what to do.

    Examples:
        >>> from tempfile import mkdtemp
        >>> file = mkdtemp() + "/mine.m"
        >>> gv.write(gv.read_case("case14_ieee"), file)
        >>> len(gv.read(file).branch)
        20
    """
    return _case(load(Path(path)))


def read_bytes(path: Path | str, data: bytes) -> Case:
    """The same of bytes that were read before; `path` is for errors."""
    return _case(clean(Path(path), data))


def _case(source: Source) -> Case:
    script = scan(source)
    fields = script.fields
    _check_version(source, fields)
    tables = {name: _table(source, fields, name) for name in _TABLES}
    extras = {
        name: _extra(source, item) for name, item in fields.items() if name not in (*_TABLES, "version", "baseMVA")
    }
    for name in USER_TERMS:
        if name in extras and len(extras[name]):
            problem = f"mpc.{name} adds terms to the OPF that this model does not have"
            source.fail(fields[name].start, problem, "delete the field if the plain OPF is meant")
    case = Case(
        name=script.name,
        base_mva=_base_mva(source, fields),
        extras=extras,
        source=str(source.path),
        **tables,
    )
    check_case(case, InText(source, fields))
    return case


def _check_version(source: Source, fields: dict[str, Assignment]) -> None:
    item = fields.get("version")
    if item is None:
        source.fail(
            None,
            "there is no mpc.version, so this is not a version-2 MATPOWER case",
            "give a file that says mpc.version = '2' and assigns mpc.bus, mpc.gen, mpc.branch and mpc.gencost",
        )
    version = source.text[item.start : item.stop].decode().strip()
    if version not in ("2", "2.0"):
        source.fail(item.start, "mpc.version is not '2'", "convert it to version '2' with savecase()")


def _base_mva(source: Source, fields: dict[str, Assignment]) -> float:
    item = fields.get("baseMVA")
    if item is None:
        source.fail(None, "mpc.baseMVA is missing", "add it, for example mpc.baseMVA = 100;")
    if item.kind == "matrix":
        value = parse_matrix(source, item)
        base = float(value.flat[0]) if value.size == 1 else np.nan
    else:
        base = float(source.text[item.start : item.stop]) if item.kind == "scalar" else np.nan
    if not (np.isfinite(base) and base > 0):
        source.fail(item.start, "mpc.baseMVA is not a positive number", "write a plain positive number there")
    if not 1 / LARGEST_BASE <= base <= LARGEST_BASE:  # its powers, which costs are multiplied by, are numbers too
        source.fail(item.start, f"mpc.baseMVA is beyond {LARGEST_BASE:g}", "give the base in MVA, such as 100")
    return base


def _table(source: Source, fields: dict[str, Assignment], name: str) -> FloatArray:
    item = fields.get(name)
    if item is None:
        if name == "gencost":  # power-flow cases have none; then every dispatch costs nothing, and `quirks` says so
            return np.empty((0, 0))
        source.fail(None, f"mpc.{name} is missing", "add the table, with no rows if there are none")
    if item.kind != "matrix":
        source.fail(item.start, f"mpc.{name} is not a table of numbers", "write it as mpc." + name + " = [ ... ];")
    return parse_matrix(source, item)


def _extra(source: Source, item: Assignment) -> Extra:
    if item.kind == "cell":
        return parse_cell(source, item)
    if item.kind == "string":
        return unquote(source.text[item.start - 1 : item.stop + 1])
    if item.kind == "scalar":
        return np.array([[float(source.text[item.start : item.stop])]])
    return parse_matrix(source, item)
