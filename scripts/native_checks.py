"""The kernel under tools that see what a test does not: python scripts/native_checks.py sanitize|valgrind [TEST...]

`sanitize` compiles native/*.c with the address and undefined-behaviour sanitizers and runs Python's tests of the kernel
on that library; `valgrind` does the same on a library with symbols alone, where of all that it finds in a Python only
what happened in this library counts. A TEST is an argument for pytest, by default
all of tests/test_kernel*.py, or a C program (NAME.c with a `main`): it is compiled together with the sources, and leaks
count as well. Everything lies in build/native. Exit code 77 says that a tool is not on this machine.

Tests that start processes of ours do not belong here: those get nothing of the environment that the tools need.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "native"
COMMON = (
    "-std=c11", "-g", "-fno-omit-frame-pointer", "-fPIC", "-fno-math-errno",
    "-Wall", "-Wextra", "-Wpedantic", "-Werror",
)  # fmt: skip
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ABSENT = 77
"""What test harnesses take for: skipped."""
_LEAST = "tests/test_native_library.py::test_the_library_that_is_named_answers"


class Absent(Exception):
    """A tool that is not here."""


def main() -> None:
    """Compile, run everything, and end with the first failure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tool", choices=("sanitize", "valgrind"))
    parser.add_argument("tests", nargs="*", help="arguments for pytest, or C programs")
    given = parser.parse_args()
    tests = given.tests or [_LEAST, *sorted(str(one.relative_to(ROOT)) for one in ROOT.glob("tests/test_kernel*.py"))]
    try:
        codes = list(
            run(given.tool, [one for one in tests if one.endswith(".c")], [t for t in tests if t[-2:] != ".c"])
        )
    except Absent as absent:
        print(f"not run: {absent}")
        raise SystemExit(ABSENT) from None
    raise SystemExit(next((code for code in codes if code), 0))


def run(tool: str, programs: list[str], tests: list[str]) -> Iterator[int]:
    """The exit codes of all programs, then that of the tests."""
    compiler = os.environ.get("CC", "").split() or ["gcc"]
    for needed in (compiler[0], *(["valgrind"] if tool == "valgrind" else [])):
        if shutil.which(needed) is None:
            raise Absent(f"there is no {needed}")
    runtime = preloaded(compiler) if tool == "sanitize" else {}
    PLACE.mkdir(parents=True, exist_ok=True)
    flags = [*COMMON, *(SANITIZED if tool == "sanitize" else ("-O1",)), f"-I{ROOT / 'native'}"]
    sources = [str(one) for one in sorted((ROOT / "native").glob("*.c"))]
    before = ["valgrind", "--quiet", "--error-exitcode=9"] if tool == "valgrind" else []
    for program in programs:
        binary = PLACE / f"{Path(program).stem}-{tool}"
        called([*compiler, *flags, *sources, program, "-o", str(binary), "-lm"])
        full = [*before, "--leak-check=full", "--errors-for-leak-kinds=definite,possible"] if before else []
        yield ended([*full, str(binary)], {})
    if tests:
        library = PLACE / f"libgridveil-{tool}.so"
        called([*compiler, *flags, "-shared", "-fvisibility=hidden", *sources, "-o", str(library), "-lm"])
        python = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
        surroundings = {"GRIDVEIL_KERNEL": str(library), "OPENBLAS_NUM_THREADS": "1", "PYTHONMALLOC": "malloc"}
        if tool == "sanitize":
            # what a sanitizer says as it ends the process would be lost in pytest's capture
            yield ended([*python, "--capture=no"], surroundings | runtime)
        else:
            report = PLACE / "valgrind.xml"
            words = ("--error-limit=no", "--leak-check=no", "--xml=yes", f"--xml-file={report}")
            yield ended(["valgrind", "--quiet", *words, *python], surroundings) or ours(report, library)


def ours(report: Path, library: Path) -> int:
    """Print what valgrind found with a frame in our library: an interpreter is full of what it only suspects."""
    found = 0
    for error in ET.parse(report).getroot().iter("error"):
        frames = [(one.findtext("obj", ""), one.findtext("fn", "?"), one.findtext("line", "?"))
                  for one in error.iter("frame")]  # fmt: skip
        if any(Path(place).name == library.name for place, _, _ in frames):
            found += 1
            print(error.findtext("what") or error.findtext("xwhat/text") or error.findtext("kind"))
            print("".join(f"    {name}, line {line}, {Path(place).name}\n" for place, name, line in frames[:12]))
    print(f"valgrind: {found} errors in {library.name}")
    return 9 if found else 0


def preloaded(compiler: list[str]) -> dict[str, str]:
    """What lets a Python that knows nothing of sanitizers load a library with them. Python's own leaks do not count."""
    found = called([*compiler, "-print-file-name=libasan.so"]).strip()
    if not Path(found).is_file():
        raise Absent("this compiler has no libasan.so")
    if not (head := Path(found).read_bytes()[:2000]).startswith(b"\x7fELF"):  # a script for the linker, with the name
        found = next(iter(re.findall(r"/[^\s()]*libasan[^\s()]*", head.decode(errors="replace"))), found)
    return {
        "LD_PRELOAD": found,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=9",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=9",
    }


def called(words: list[str]) -> str:
    """What a command prints; its own complaints, and its code, if it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout


def ended(words: list[str], more: Mapping[str, str]) -> int:
    """The exit code of a command, with more in its environment."""
    print(" ".join(words), flush=True)
    return subprocess.run(words, cwd=ROOT, env={**os.environ, **more}, check=False).returncode


if __name__ == "__main__":
    main()
