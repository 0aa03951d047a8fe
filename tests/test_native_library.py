"""The kernel's library: loaded once, before doors close, or absent in words; and the tools that watch it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import native_checks
from build_native import build
from gridveil.cli import doctor
from gridveil.cli.doctor import State
from gridveil.nlp.native import library
from gridveil.repair.child import ChildWorkshop

from . import native
from .native import sources

ROOT = Path(__file__).parents[1]
LINUX = sys.platform == "linux"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of these sources."""
    return native.built(tmp_path_factory.mktemp("native"))


@pytest.fixture(autouse=True)
def as_nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the user wants of installations."""
    monkeypatch.delenv("GRIDVEIL_NATIVE", raising=False)


@pytest.fixture(autouse=True)
def looked_for_anew() -> Iterator[None]:
    """Each test finds the library by itself, and leaves nothing found."""
    library._find.cache_clear()
    yield
    library._find.cache_clear()


def test_the_library_that_is_named_answers(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDVEIL_KERNEL", os.environ.get("GRIDVEIL_KERNEL") or str(compiled))
    found = library.load()
    assert found is not None and library.why_absent() is None
    assert found.gridveil_kernel_version() == library.VERSION
    assert library.load() is found
    finding = doctor.LOOKS["kernel"]()
    assert finding.state is State.OK
    assert finding.details == {"file": str(library.file()), "version": library.VERSION}


def test_what_is_installed_beside_the_package_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRIDVEIL_KERNEL", raising=False)
    place = Path(library.__file__).parent
    assert library.file() in {place / f"libgridveil.{suffix}" for suffix in ("so", "dylib", "dll")}
    assert (library.load() is None) == (library.why_absent() is not None)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("absent", "there is no file"), ("folder", "there is no file"), ("text", "cannot be used"),
        ("empty", "cannot be used"), ("half", "cut off"), ("head", "cut off"), ("other", "cannot be used"),
        ("version", "has version 8, and this GridVeil needs"),
    ],
)  # fmt: skip
def test_a_library_that_cannot_be_used_is_absent_in_words(
    kind: str, words: str, compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never an exception, and never a crash."""
    file, whole = tmp_path / compiled.name, compiled.read_bytes()
    if kind in {"half", "head"} and not LINUX:
        pytest.skip("other systems look at the whole file themselves")
    if kind == "folder":
        file.mkdir()
    elif kind == "other":
        found = subprocess.run([sys.executable, "-c", "import _ctypes; print(_ctypes.__file__)"],
                               capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
        shutil.copyfile(found, file)
    elif kind == "version":
        tree = sources(tmp_path / "tree", version=8)
        built = build(tree, tmp_path, os.environ)
        assert built.file == file
    elif kind != "absent":
        file.write_bytes({"text": b"no library" * 100, "empty": b"", "half": whole[: len(whole) // 2],
                          "head": whole[:40]}[kind])  # fmt: skip
    monkeypatch.setenv("GRIDVEIL_KERNEL", str(file))
    assert library.load() is None
    assert words in (library.why_absent() or "")
    finding = doctor.LOOKS["kernel"]()
    assert finding.state is State.NOTE and words in finding.found and "make native" in finding.advice


BEHIND_DOORS = """
import json, sys
from gridveil.nlp.native import library
from gridveil.process.confine import confine
from gridveil.repair.rehearsal import rehearse
if sys.argv[1] == "rehearsed":
    rehearse()
closed = confine()
found = library.load()
print(json.dumps([closed, found and found.gridveil_kernel_version(), library.why_absent()]))
"""


@pytest.mark.skipif(not LINUX, reason="only Linux closes all doors")
def test_the_library_is_open_before_the_doors_close(compiled: Path) -> None:
    """And who has not looked before finds it absent, in words."""
    kept = {**os.environ, "GRIDVEIL_KERNEL": str(compiled)}
    (closed, version, why), (_, later, reason) = (
        json.loads(subprocess.run([sys.executable, "-c", BEHIND_DOORS, how], env=kept, capture_output=True, text=True,
                                  check=True).stdout) for how in ("rehearsed", "not")
    )  # fmt: skip
    assert (version, why) == (library.VERSION, None)
    if {"landlock", "seccomp", "descriptors"} & set(closed):
        assert later is None and "cannot be used" in reason


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux says what a process has open")
@pytest.mark.parametrize("how", ["absolute", "relative", "absent"])
def test_the_repair_process_has_it(how: str, compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is named, wherever the user stands; a repair process starts without it, too."""
    monkeypatch.chdir(compiled.parent)
    named = {"absolute": str(compiled), "relative": compiled.name, "absent": str(tmp_path / "none.so")}[how]
    monkeypatch.setenv("GRIDVEIL_KERNEL", named)
    loaded = list[bool]()

    def looked(self: ChildWorkshop) -> None:
        maps = Path(f"/proc/{self._process.pid}/maps").read_text()
        loaded.append(str(compiled) in maps)

    shop = ChildWorkshop()
    try:
        looked(shop)
    except PermissionError:  # it is closed to debuggers of the same user
        pytest.skip("this system shows nobody what a confined process has open")
    finally:
        shop.close()
    assert loaded == [how != "absent"]


# Tools for whoever works on the kernel


def checks(tool: str, *tests: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/native_checks.py", tool, *tests], cwd=ROOT, env={**os.environ, **more},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.skipif(not LINUX, reason="the tools of Linux")
@pytest.mark.parametrize("tool", ["sanitize", "valgrind"])
def test_tools_find_what_is_planted(tool: str, tmp_path: Path) -> None:
    """A program that reads behind its memory fails, and one that does not passes."""
    program = tmp_path / "planted.c"
    body = """#include <stdio.h>
#include <stdlib.h>
#include "gridveil.h"
int main(int count, char **words) {{
    double *room = malloc(4 * sizeof(double));
    (void)words;
    for (int i = 0; i < 4; i++) room[i] = gridveil_kernel_version();
    printf("%f\\n", room[{index} + count]);
    free(room);
    return 0;
}}
"""
    program.write_text(body.format(index=2))
    done = checks(tool, str(program))
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    program.write_text(body.format(index=3))
    assert checks(tool, str(program)).returncode != 0


def test_of_what_valgrind_finds_ours_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error(place: str) -> str:
        frame = f"<frame><obj>{place}</obj><fn>gv_solve</fn><line>7</line></frame>"
        outer = "<frame><obj>/lib/libc.so.6</obj><fn>memcpy</fn></frame>"
        return (
            f"<error><kind>InvalidRead</kind><what>Invalid read of size 8</what><stack>{outer}{frame}</stack></error>"
        )

    report, mine = tmp_path / "report.xml", tmp_path / "libgridveil-valgrind.so"
    report.write_text(f"<valgrindoutput>{error('/usr/lib/libpython3.so')}</valgrindoutput>")
    assert native_checks.ours(report, mine) == 0
    report.write_text(f"<valgrindoutput>{error('/usr/lib/libpython3.so')}{error(str(mine))}</valgrindoutput>")
    assert native_checks.ours(report, mine) == 9
    assert "Invalid read of size 8\n    memcpy, line ?, libc.so.6\n    gv_solve, line 7" in capsys.readouterr().out


def test_a_tool_that_is_absent_is_no_failure() -> None:
    done = checks("sanitize", CC="no-such-compiler")
    assert (done.returncode, done.stdout) == (77, "not run: there is no no-such-compiler\n")
