"""Ipopt's shared library: which one, and the signatures of its C interface. `nlp/ipopt.py` solves with it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridveil.errors import SolveError

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
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so*")
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
