"""`gridveil doctor`: could a release be made here, with what, and how well is it shut in?

Every library is imported where it is looked at: what cannot be imported is a finding, not the doctor's end.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from gridveil import __version__
from gridveil.cli.exits import Exit
from gridveil.cli.options import JsonOption, LedgerOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.errors import GridVeilError

if TYPE_CHECKING:
    from gridveil.privacy.ledger import Ledger

LIBRARIES = ("numpy", "opendp", "scipy", "clarabel", "casadi", "cryptography", "msgspec", "typer", "rich")
EXTRAS = {
    "parquet": ("pyarrow",),
    "verify": ("jinja2",),
    "frames": ("pandas",),
    "formats": ("pandapower", "pypsa"),
    "cgmes": ("pypowsybl",),
    "plot": ("matplotlib",),
    "workbench": ("starlette", "uvicorn", "jinja2"),
    "study": ("pyarrow", "dask", "distributed", "cryptography"),
    "report": ("matplotlib", "pyarrow", "dask", "distributed", "cryptography", "plotly", "jinja2"),
}


class State(StrEnum):
    """A problem keeps a release from being made; a note does not."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What is there, what to do about it, and the same in parts for programs."""

    state: State
    found: str
    advice: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def doctor(ledger: LedgerOption = None, as_json: JsonOption = False) -> None:
    """Say what is installed, which solver and ledger a release would use, and how the repair process is confined."""
    with reporting(as_json):
        looks = dict(LOOKS)
        if ledger is not None:
            looks["ledger"] = partial(_ledger, ledger)
        findings = {name: _examined(look) for name, look in looks.items()}
        healthy = all(one.state is not State.PROBLEM for one in findings.values())
        if as_json:
            print_json({"status": "ok" if healthy else "problem", "findings": _record(findings)})
        else:
            _print_table(findings, healthy)
    raise SystemExit(int(Exit.OK if healthy else Exit.CHECK_FAILED))


def _examined(look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except GridVeilError as error:
        return Finding(State.PROBLEM, str(error))
    except Exception as error:  # noqa: BLE001 - whatever is broken here is what was asked for
        return Finding(State.PROBLEM, f"{type(error).__name__}: {error}", "install gridveil anew, or report it")


def _python() -> Finding:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding(State.OK, found, details={"version": platform.python_version(), "executable": sys.executable})


def _package() -> Finding:
    place = str(Path(__file__).resolve().parents[1])
    return Finding(State.OK, f"{__version__} in {place}", details={"version": __version__, "place": place})


def _libraries() -> Finding:
    versions = {name: _version(name) for name in LIBRARIES}
    missing = [name for name, found in versions.items() if found is None]
    words = ", ".join(f"{name} {found or 'absent'}" for name, found in versions.items())
    if missing:
        return Finding(State.PROBLEM, words, f"pip install {' '.join(missing)}", {"versions": versions})
    return Finding(State.OK, words, details={"versions": versions})


def _extras() -> Finding:
    from gridveil.libraries import how_to_install

    versions = {name: {one: _version(one) for one in parts} for name, parts in EXTRAS.items()}
    absent = [name for name, parts in versions.items() if None in parts.values()]
    present = [name for name in EXTRAS if name not in absent]
    words = "; ".join(
        f"{what}: {', '.join(names)}" for what, names in (("present", present), ("absent", absent)) if names
    )
    advice = f"if wanted: {how_to_install(*absent)}" if absent else ""
    return Finding(State.OK, words, advice, {"versions": versions})


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _solver() -> Finding:
    from gridveil.api.solving import solve_opf
    from gridveil.cases import path
    from gridveil.formats.find import load
    from gridveil.nlp.ipopt_library import find_library
    from gridveil.nlp.solver import SolverOptions

    options = SolverOptions()
    library = str(find_library(options.library))
    network = load(path("case3_lmbd") or "case3_lmbd")  # the shipped one, whatever lies in the working directory
    solution = solve_opf(network, options=options).require()
    details = {"library": library, "linear_solver": options.linear_solver, "cost": solution.cost}
    found = (
        f"{library} with {options.linear_solver}; the AC-OPF of 3 buses is solved in {solution.iterations} iterations"
    )
    return Finding(State.OK, found, details=details)


def _kernel() -> Finding:
    from gridveil.nlp.native import library

    why, file = library.why_absent(), str(library.file())
    if why is not None:
        again = "pip install --force-reinstall --no-deps --no-binary gridveil gridveil, or in a clone: make native"
        advice = f"where there is a C compiler, or the package index has 'ziglang': {again}"
        return Finding(State.NOTE, f"absent, so that Ipopt solves all: {why}", advice, {"file": file, "version": None})
    details = {"file": file, "version": library.VERSION}
    return Finding(State.OK, f"version {library.VERSION} in {file}", details=details)


def _noise() -> Finding:
    """The library's map at a law that everybody knows, and a draw on the way of a release, which asserts its own."""
    import numpy as np
    from opendp.domains import atom_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import absolute_distance

    from gridveil.privacy.noise import ExactNoise

    noise = ExactNoise()
    drawn = noise.laplace(np.zeros(64), 1.0, 0.5)
    law: Any = make_laplace(atom_domain(T=float, nan=False), absolute_distance(T=float), scale=2.0)
    stated = float(law.map(1.0))
    if not (0.5 <= stated <= 0.5 * (1 + 1e-9) and np.all(np.isfinite(drawn)) and np.any(drawn != 0)):
        words = f"{noise.description}: a loss of {stated} where 0.5 is right, or no noise"
        return Finding(State.PROBLEM, words, "install another version of opendp; do not release with this one")
    return Finding(State.OK, f"{noise.description}; its privacy map is right", details={"map": stated})


def _ledger(given: Path | None = None) -> Finding:
    from gridveil.privacy.database import there
    from gridveil.privacy.ledger import Ledger, default_path

    path = given or default_path()
    details: dict[str, Any] = {"path": str(path), "exists": there(path)}
    if details["exists"]:
        return _looked_into(Ledger.read(path), details)
    if path.with_name(path.name + ".key").exists():
        words = f"{path} is gone, but its key is there: what was spent would be forgotten"
        return Finding(State.PROBLEM, words, "restore the ledger from a backup", details)
    above = next(one for one in path.absolute().parents if one.exists())
    if not os.access(above, os.W_OK):
        words = f"none yet, and {above} cannot be written to"
        return Finding(State.PROBLEM, words, "name another place with --ledger", details)
    return Finding(State.OK, f"none yet; a release makes {path}", details=details)


def _looked_into(book: Ledger, details: dict[str, Any]) -> Finding:
    """A ledger that is there: whole, its owner's alone, and such that a charge and its anchor can be written."""
    count, anchor = len(book.verify()), book.anchor_file
    details |= {"entries": count, "anchor": str(anchor)}
    words = f"{book.path}: {count} entries, intact; its anchor stands in {anchor}"
    if book.is_backup:
        return Finding(State.PROBLEM, f"{words}, but it is a backup", "put it in place with ledger restore", details)
    if (shared := [str(file) for file in book.shared_files()]) and not book.unguarded:
        found = f"{words}, but others may read or write {', '.join(shared)}"
        return Finding(State.PROBLEM, found, f"chmod 600 {' '.join(shared)}", details)
    needed = {book.path, book.path.parent, anchor.resolve().parent}  # an anchor is replaced, not written into
    if fixed := sorted(str(place) for place in needed if not os.access(place, os.W_OK)):
        found = f"{words}, but {', '.join(fixed)} cannot be written to"
        return Finding(State.PROBLEM, found, "make it writable, or name another ledger with --ledger", details)
    return Finding(State.OK, words, details=details)


def _repair() -> Finding:
    from contextlib import closing

    from gridveil.repair.child import ChildWorkshop

    with closing(ChildWorkshop()) as shop:
        closed = shop.confined
    details = {"confined": list(closed)}
    if not {"landlock", "seccomp"} & set(closed):
        words = f"starts and solves; confined by {', '.join(closed) or 'nothing'}"
        return Finding(
            State.NOTE, words, "Linux with Landlock or seccomp would keep it from files and network", details
        )
    return Finding(State.OK, f"starts and solves; confined by {', '.join(closed)}", details=details)


def _cores() -> Finding:
    from gridveil.process.cores import core_dumps_off, cores_are_off

    with core_dumps_off():
        off = cores_are_off()
    if not off:
        return Finding(
            State.NOTE, "this system cannot turn them off", "a crash may leave the network on disk", {"off": off}
        )
    return Finding(State.OK, "off during a release", details={"off": off})


def _system() -> Finding:
    from gridveil.process.system import lacking

    if lost := lacking():
        return Finding(State.NOTE, "; ".join(lost), "publish from Linux, or a container, if that matters to you")
    return Finding(State.OK, "nothing of what is done on Linux is missing")


LOOKS: dict[str, Callable[[], Finding]] = {
    "python": _python,
    "gridveil": _package,
    "libraries": _libraries,
    "extras": _extras,
    "solver": _solver,
    "kernel": _kernel,
    "noise": _noise,
    "ledger": _ledger,
    "repair process": _repair,
    "core dumps": _cores,
    "system": _system,
}


def _record(findings: dict[str, Finding]) -> dict[str, Any]:
    return {
        name.replace(" ", "_"): {"state": str(one.state), "found": one.found, "advice": one.advice, **one.details}
        for name, one in findings.items()
    }


_COLOUR = {State.OK: "green", State.NOTE: "yellow", State.PROBLEM: "red"}


def _print_table(findings: dict[str, Finding], healthy: bool) -> None:
    table = Table("", "", title="gridveil doctor", title_justify="left", title_style="bold")
    table.add_column("what was found, and what to do", overflow="fold")
    for name, one in findings.items():
        advice = f"\n[bold]{escape(one.advice)}[/]" if one.advice else ""
        table.add_row(name, f"[{_COLOUR[one.state]}]{one.state}[/]", escape(one.found) + advice)
    out.print(table)
    out.print("[green]a release could be made[/]" if healthy else "[red]no release could be made[/]")
