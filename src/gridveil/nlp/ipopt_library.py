"""Ipopt's shared library: which one, and the signatures of its C interface. `nlp/ipopt.py` solves with it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_uint, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridveil.errors import SolveError
from gridveil.nlp.memory import keep_memory

EVAL_F = CFUNCTYPE(c_int, c_int, c_void_p, c_int, c_void_p, c_void_p)
EVAL_GRAD_F = CFUNCTYPE(c_int, c_int, c_void_p, c_int, c_void_p, c_void_p)
EVAL_G = CFUNCTYPE(c_int, c_int, c_void_p, c_int, c_int, c_void_p, c_void_p)
EVAL_JAC_G = CFUNCTYPE(c_int, c_int, c_void_p, c_int, c_int, c_int, c_void_p, c_void_p, c_void_p, c_void_p)
EVAL_H = CFUNCTYPE(
    c_int, c_int, c_void_p, c_int, c_double, c_int, c_void_p, c_int, c_int, c_void_p, c_void_p, c_void_p, c_void_p
)
INTERMEDIATE = CFUNCTYPE(
    c_int, c_int, c_int, c_double, c_double, c_double, c_double, c_double, c_double, c_double, c_double, c_int, c_void_p
)  # fmt: skip

# Ipopt's bits for the linear solvers (IpLinearSolvers.h), and where it looks for those that are not built in
_BITS = {
    "ma27": 0x1, "ma57": 0x2, "ma77": 0x4, "ma86": 0x8, "ma97": 0x10, "pardiso": 0x40, "pardisomkl": 0x80,
    "spral": 0x100, "wsmp": 0x200, "mumps": 0x400,
}  # fmt: skip
_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")


@lru_cache(maxsize=4)
def find_library(library: str | None) -> Path:
    """The libipopt to use: the user's, else the one in the casadi wheel."""
    if library:
        path = Path(library).resolve()  # a bare name would be looked for in the system's folders
        if not path.is_file():
            raise SolveError("bad_option", f"there is no Ipopt library at {path}; check --ipopt or GRIDVEIL_IPOPT")
        return path
    spec = importlib.util.find_spec("casadi")
    places = list(spec.submodule_search_locations or []) if spec else []
    suffix = "so*" if _SUFFIX == "so" else _SUFFIX
    for place in places:
        for pattern in (f"libipopt.{suffix}", f"libipopt*.{suffix}", f"ipopt*.{suffix}"):
            for found in sorted(Path(place).glob(pattern)):
                return found
    raise SolveError("no_solver", "no Ipopt found: install 'casadi', or name a libipopt with --ipopt or GRIDVEIL_IPOPT")


@lru_cache(maxsize=4)
def load(path: Path) -> Any:
    """The library with the signatures of its functions, loaded once."""
    if sys.platform == "win32":
        os.add_dll_directory(str(path.parent))
    try:
        library = ctypes.CDLL(str(path))
        library.CreateIpoptProblem.restype = c_void_p
    except (OSError, AttributeError) as error:
        raise SolveError("bad_option", f"{path} is not a usable Ipopt library: {error}") from error
    keep_memory()
    library.CreateIpoptProblem.argtypes = [
        c_int, c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_int, c_int, c_int,
        EVAL_F, EVAL_G, EVAL_GRAD_F, EVAL_JAC_G, EVAL_H,
    ]  # fmt: skip
    # Its BLAS would start a thread per core and gain nothing on these small fronts but fight with its neighbours.
    if hasattr(library, "openblas_set_num_threads") and "OPENBLAS_NUM_THREADS" not in os.environ:
        library.openblas_set_num_threads(c_int(1))
    library.FreeIpoptProblem.argtypes = [c_void_p]
    library.FreeIpoptProblem.restype = None
    library.AddIpoptStrOption.argtypes = [c_void_p, c_char_p, c_char_p]
    library.AddIpoptNumOption.argtypes = [c_void_p, c_char_p, c_double]
    library.AddIpoptIntOption.argtypes = [c_void_p, c_char_p, c_int]
    library.SetIntermediateCallback.argtypes = [c_void_p, INTERMEDIATE]
    library.IpoptSolve.argtypes = [
        c_void_p,
        c_void_p,
        c_void_p,
        POINTER(c_double),
        c_void_p,
        c_void_p,
        c_void_p,
        c_void_p,
    ]
    return library


def require_recent(library: Any) -> None:
    """Refuse an Ipopt before 3.14 for releases: what it calls optimal exceeds limits by 2e-6, and the certificate of a
    release, made after its privacy is spent, allows 1e-6."""
    if not hasattr(library, "GetIpoptCurrentIterate"):
        raise SolveError(
            "bad_option",
            "this Ipopt is older than 3.14, and too inexact for the certificate of a release; install 'casadi' and "
            "leave --ipopt and GRIDVEIL_IPOPT out, or name a newer one",
        )


@lru_cache(maxsize=16)
def require_linear_solver(library: Any, name: str, hsl: str | None) -> None:
    """Refuse a linear solver that is not there: Ipopt would complain on standard output, or (ma97) crash.

    The answer is remembered: a process that has closed its doors could not look again.
    """
    available = getattr(library, "IpoptGetAvailableLinearSolvers", None)
    if available is None:  # an Ipopt before 3.14, which says itself what it lacks
        return
    available.argtypes, available.restype = [c_int], c_uint
    known, built_in = available(0), available(1)
    if not known & _BITS[name]:
        others = ", ".join(one for one, bit in _BITS.items() if known & bit)
        raise SolveError("bad_option", f"this Ipopt was built without linear solver '{name}'; it can have {others}")
    if built_in & _BITS[name]:
        return
    file = f"libpardiso.{_SUFFIX}" if name == "pardiso" else hsl or f"libhsl.{_SUFFIX}"
    try:
        ctypes.CDLL(file)
    except OSError as error:
        advice = "install it where the system looks" + ("" if name == "pardiso" else ", or name it with GRIDVEIL_HSL")
        raise SolveError(
            "bad_option", f"linear solver '{name}' is in a library of its own, which is not there ({error}); {advice}"
        ) from None
