"""Start a module of this package in a fresh Python that runs no file of the user's working directory.

`python -m` would look for every module in the working directory first: a `json.py` there would be executed. A process
that is started here has Python's own isolation (-I), an environment of a few names, and a working directory of its own
that is empty for good. It runs the same package as its parent, whatever made that one importable.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gridveil.process import boot

NAMES = ("GRIDVEIL_SOLVER", "GRIDVEIL_LINEAR_SOLVER", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""Of the environment a process gets these: for the solver, and for its libraries to be found."""
PREFIXES = ("OMP_", "OPENBLAS_", "GOTO_", "MKL_", "KMP_", "BLIS_", "NPY_", "MALLOC_")
"""And what these begin: threads and processor features, on which the last digits may depend, and memory."""
FILES = ("GRIDVEIL_IPOPT", "GRIDVEIL_HSL", "GRIDVEIL_KERNEL")
"""And these, which may be relative to a directory that the process does not stand in."""


def isolated(module: str, *, quiet: bool = False) -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package, with pipes; `OSError` if that cannot be. Who is `quiet` is not heard."""
    if not sys.executable:
        raise OSError("this Python does not know where its interpreter is")
    with _nowhere() as place:
        return subprocess.Popen(
            command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else subprocess.PIPE,
            env=environment(os.environ),
            cwd=place,
            # Ctrl-C is the parent's business, which ends its children in order
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same, on Windows
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started, and close what leads to it."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def command(module: str) -> list[str]:
    """The command line: isolated, writing no bytecode, UTF-8 whatever the locale."""
    script = Path(boot.__file__).resolve()
    return [sys.executable, "-I", "-B", "-X", "utf8", str(script), module, str(script.parents[1]), *search_path()]


def search_path() -> list[str]:
    """Where the parent finds modules, in its order, but for the working directory."""
    places = [one for one in sys.path if isinstance(one, str)]
    try:
        here = Path.cwd()
    except OSError:  # it has been removed
        return [one for one in places if Path(one).is_absolute()]
    return [str(here / one) for one in places if (here / one).resolve() != here.resolve()]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What a process gets of an environment."""
    kept = {name: value for name, value in given.items() if name in NAMES or name.startswith(PREFIXES)}
    for name in FILES:
        if value := given.get(name):
            # a bare name of a linear solver's library is looked for by the system, where its other libraries are
            bare = name == "GRIDVEIL_HSL" and Path(value).name == value
            kept[name] = value if bare else str(Path(value).absolute())
    return kept


@contextmanager
def _nowhere() -> Iterator[str]:
    """A directory that is gone once a process stands in it: empty for good, and nothing to clean up after a kill."""
    place = tempfile.mkdtemp(prefix="gridveil.")
    try:
        yield place
    finally:
        with suppress(OSError):  # where a directory in use cannot be removed, it stays, empty
            Path(place).rmdir()
