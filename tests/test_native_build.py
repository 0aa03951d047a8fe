"""The kernel's library: compiled by what there is, or not at all, and what a wheel with it claims."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import build_native
from build_native import Target, build, in_place, platform_tag, requirements, target
from gridveil.nlp.native import library

from . import native
from .native import sources

ROOT = Path(__file__).parents[1]
LINUX = sys.platform == "linux"
BARE = {"PATH": "/nonexistent"}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of these sources."""
    return native.built(tmp_path_factory.mktemp("native"))


@pytest.fixture(autouse=True)
def as_nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the user wants of installations."""
    monkeypatch.delenv("GRIDVEIL_NATIVE", raising=False)


# The build


def test_the_header_and_the_package_speak_the_same_version() -> None:
    assert build_native.version(ROOT) == library.VERSION


def test_what_is_built_can_be_loaded_and_shows_its_own_names_alone(compiled: Path) -> None:
    assert build_native.answered(compiled) == library.VERSION
    nm = shutil.which("nm")
    if not LINUX or nm is None:
        pytest.skip("no nm to list names with")
    listed = subprocess.run([nm, "-D", "--defined-only", compiled], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in listed.splitlines()} - {"_init", "_fini"}
    assert "gridveil_kernel_version" in names
    assert {one for one in names if not re.fullmatch(r"(gridveil|gv)_\w+|ma57[abcei]d_", one)} == set()
    asked = subprocess.run([nm, "-D", "--undefined-only", compiled], capture_output=True, text=True, check=True).stdout
    versions = {int(one) for one in re.findall(r"GLIBC_2\.(\d+)", asked)}
    assert f"_2_{max({17} | versions)}_" in platform_tag(compiled, Target("", "manylinux_2_17_x86_64"))


def test_a_tag_claims_no_older_glibc_than_the_symbols_have(tmp_path: Path) -> None:
    file = tmp_path / "libgridveil.so"
    file.write_bytes(b"\0exp\0GLIBC_2.29\0GLIBC_2.2.5\0pow\0")
    assert platform_tag(file, Target(file.name, "manylinux_2_17_aarch64")) == "manylinux_2_29_aarch64"
    file.write_bytes(b"\0GLIBC_2.2.5\0")
    assert platform_tag(file, Target(file.name, "manylinux_2_17_x86_64")) == "manylinux_2_17_x86_64"
    assert platform_tag(file, Target(file.name, "win_amd64")) == "win_amd64"


def no_zig(monkeypatch: pytest.MonkeyPatch, *, on_index: bool = True) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(build_native, "on_index", lambda _: on_index)


def test_without_any_compiler_there_is_a_sentence_and_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_zig(monkeypatch, on_index=False)
    built = build(ROOT, tmp_path, BARE)
    assert built.file is None
    assert built.words == "no kernel: there is no C compiler that works, and no wheel 'ziglang'"
    assert requirements(BARE) == []
    with pytest.raises(RuntimeError, match="no C compiler that works"):
        build(ROOT, tmp_path, {**BARE, "GRIDVEIL_NATIVE": "1"})
    assert build(ROOT, tmp_path, {**os.environ, "GRIDVEIL_NATIVE": "0"}).words == "no kernel: GRIDVEIL_NATIVE=0"
    with pytest.raises(RuntimeError, match=r"GRIDVEIL_NATIVE is 'yes'; give 0"):
        requirements({"GRIDVEIL_NATIVE": "yes"})
    assert list(tmp_path.iterdir()) == []


def test_the_compiler_of_the_index_is_asked_for_only_where_no_other_works(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = Target("libgridveil.so", "manylinux_2_17_x86_64", zig="x86_64-linux-gnu.2.17")
    monkeypatch.setattr(build_native, "target", lambda: goal)
    no_zig(monkeypatch)
    assert requirements(BARE) == [build_native.ZIG]
    assert requirements({**os.environ, "CC": "ziglang"}) == [build_native.ZIG]
    assert requirements({**BARE, "GRIDVEIL_NATIVE": "0"}) == []
    if shutil.which("cc"):
        assert requirements({"PATH": os.environ["PATH"]}) == []
    no_zig(monkeypatch, on_index=False)
    assert requirements(BARE) == []
    assert requirements({**BARE, "GRIDVEIL_NATIVE": "1"}) == [build_native.ZIG]  # and then its absence is an error
    monkeypatch.setattr(build_native, "target", lambda: goal._replace(zig=None))
    assert requirements({**BARE, "GRIDVEIL_NATIVE": "1"}) == []


@pytest.mark.parametrize(
    ("words", "there"),
    [
        ("ERROR: No matching distribution found for ziglang", False),
        ("ERROR: ResolutionImpossible: for help", False),
        ("No module named pip", True),
        ("", True),
    ],
)
def test_the_index_is_asked_first(words: str, there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[list[str], dict[str, str]]]()

    def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        asked.append((command, environment))
        return subprocess.CompletedProcess(command, int(bool(words)), "", words)

    monkeypatch.setattr(build_native, "_run", run)
    assert build_native.on_index({"PYTHONPATH": "/overlay", "PIP_INDEX_URL": "x"}) is there
    assert build_native.on_index({"PIP_CONSTRAINT": "c.txt"}) is there
    (plain, environment), (constrained, _) = asked
    assert environment == {"PIP_INDEX_URL": "x"}
    assert "index" in plain and "--dry-run" in constrained


@pytest.mark.skipif(os.name == "nt", reason="a compiler that is a shell script")
@pytest.mark.parametrize("script", ["exit 1", "exit 0", 'while [ "$1" != -o ]; do shift; done; echo no library > "$2"'])
def test_a_compiler_that_only_seems_to_work(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried by a file of its own, and passed over; CC takes the place of all others."""
    no_zig(monkeypatch)
    fake = tmp_path / "cc"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    goal = target()
    assert goal is not None
    assert build_native.working(goal, {"PATH": str(tmp_path)}) == []
    built = build(ROOT, tmp_path, {**os.environ, "CC": f"{fake} -x"})
    assert built.words == f"no kernel: there is no C compiler that works (CC is '{fake} -x'), and no wheel 'ziglang'"


def test_sources_that_do_not_compile(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation goes on without; whoever works on them is told by the compiler, and nothing old is left."""
    assert compiled.is_file()
    no_zig(monkeypatch)
    tree = sources(tmp_path / "tree", "int broken( {")
    assert "more.c" in build(tree, tmp_path, os.environ).words
    stale = tree / "src" / build_native.PLACE / "libgridveil.so"
    stale.write_bytes(b"old")
    with pytest.raises(RuntimeError, match=r"more\.c"):
        in_place(tree, os.environ)
    assert in_place(tree, {"GRIDVEIL_NATIVE": "0"}).file is None
    assert not stale.exists()
    (tree / "native" / "more.c").unlink()
    built = in_place(tree, os.environ)
    assert built.file is not None and build_native.answered(built.file) == library.VERSION
    assert [one.name for one in built.file.parent.iterdir()] == [built.file.name]


class Hook(build_native.NativeBuildHook):
    """What the builder makes of it."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)


def test_a_wheel_gets_the_library_and_the_tag(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = sources(tmp_path / "tree")
    hook, data = Hook(tree), dict[str, Any](force_include={})
    hook.initialize("standard", data)
    ((built, inside),) = data["force_include"].items()
    assert inside == f"gridveil/nlp/native/{compiled.name}" and Path(built).is_file()
    assert re.fullmatch(r"py3-none-(manylinux_2_\d+|macosx_\d+_\d+|win|linux)_\w+", data["tag"])
    assert data["pure_python"] is False
    hook.finalize("standard", data, "")
    assert not Path(built).exists()
    assert list((tree / "src" / build_native.PLACE).iterdir()) == []  # nothing of a wheel stays in the sources
    hook.initialize("editable", data := {"force_include": {}})
    assert [one.name for one in (tree / "src" / build_native.PLACE).iterdir()] == [compiled.name]
    assert data == {"force_include": {}}
    monkeypatch.setenv("GRIDVEIL_NATIVE", "0")
    hook.initialize("standard", data)
    assert data == {"force_include": {}}  # a wheel for every platform
    assert hook.dependencies() == []


# Other systems, simulated


@pytest.mark.parametrize(
    ("system", "machine", "own", "expected"),
    [
        ("darwin", "arm64", "macosx-11.0-universal2", ("libgridveil.dylib", "macosx_11_0_arm64", "aarch64-macos.11.0")),
        ("darwin", "x86_64", "macosx-10.13-universal2", ("libgridveil.dylib", "macosx_10_13_x86_64", "x86_64-macos.10.13")),
        ("win32", "AMD64", "win-amd64", ("libgridveil.dll", "win_amd64", "x86_64-windows-gnu")),
        ("win32", "ARM64", "win-amd64", ("libgridveil.dll", "win_amd64", "x86_64-windows-gnu")),  # emulated
        ("win32", "ARM64", "win-arm64", ("libgridveil.dll", "win_arm64", "aarch64-windows-gnu")),
        ("linux", "aarch64", "linux-aarch64", ("libgridveil.so", "manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17")),
        ("linux", "riscv64", "linux-riscv64", ("libgridveil.so", "linux_riscv64", None)),
        ("freebsd14", "amd64", "freebsd-14.0-RELEASE-amd64", ("libgridveil.so", "freebsd_14_0_RELEASE_amd64", None)),
    ],
)  # fmt: skip
def test_targets(
    system: str, machine: str, own: str, expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(sysconfig, "get_platform", lambda: own)
    goal = target()
    assert goal is not None
    assert (goal.file, goal.tag, goal.zig) == expected
    assert ("-fPIC" in goal.flags) is (system != "win32")
    no_zig(monkeypatch)
    assert build(ROOT, tmp_path, BARE).file is None  # without a compiler: no error
    assert requirements(BARE) == ([build_native.ZIG] if goal.zig else [])


def test_systems_without_a_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(sys, "platform", "linux")
    goal = target()
    assert goal is not None and goal.zig is None  # musl: by its own compiler alone
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert target() is None and requirements(BARE) == []
    assert "32 bits" in build(ROOT, tmp_path, os.environ).words


def test_no_window_is_opened_on_a_mac_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """There `cc` offers to install one; `xcode-select` says whether it is there already."""
    asked = list[list[str]]()

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 2, "", "")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(build_native, "_run", run)
    assert build_native.candidates(os.environ | {"CC": ""}) == []
    assert asked == [["xcode-select", "-p"]]
    assert build_native.candidates({"CC": "my-cc -m64"}) == [["my-cc", "-m64"]]
    monkeypatch.setattr(sys, "platform", "win32")
    assert build_native.candidates({"CC": '"C:\\my tools\\gcc.exe" -m64'}) == [["C:\\my tools\\gcc.exe", "-m64"]]
