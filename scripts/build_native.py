"""The kernel: native/*.c becomes one shared library, libgridveil, beside the Python that loads it.

Called by the builder of wheels, and by hand, in place: python scripts/build_native.py. The C compiler is the one that
CC names, or the system's; where none works, the one in the wheel `ziglang`, which is then asked for as a requirement of
the build alone. Without either everything is installed but the library, and Ipopt solves all. The library knows nothing
of Python's own interface, so that one wheel per platform serves every version of Python.

GRIDVEIL_NATIVE=0 builds none; GRIDVEIL_NATIVE=1 makes its absence an error. CC=ziglang takes that wheel even where
there is a compiler: its library runs with every glibc from 2.17 on, whatever this machine has.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # run by hand: the builder is there only while it builds
    BuildHookInterface = object

ROOT = Path(__file__).parents[1]
PLACE = "gridveil/nlp/native"
SWITCH = "GRIDVEIL_NATIVE"
ZIG = "ziglang>=0.13"
OLDEST_GLIBC = 17
"""The wheel `ziglang` links against glibc 2.17, and a tag never claims less."""
FLAGS = ("-std=c11", "-O3", "-g0", "-shared", "-fvisibility=hidden", "-fno-math-errno", "-ffp-contract=fast")
"""Nothing here is for one processor, and nothing lets the compiler forget what NaN and infinity are."""
SECONDS = 900
_TRIAL = """#include <math.h>
#include <stdlib.h>
#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
int gridveil_kernel_version(void) {
    double *room = malloc(2 * sizeof(double));
    if (!room) return 0;
    room[0] = sqrt(4.0 + floor(exp(0.5) / 8.0));
    int answer = (int)room[0] + 5;
    free(room);
    return answer;
}
"""
_TRIAL_ANSWER = 7
_ASK = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).gridveil_kernel_version())"


class Target(NamedTuple):
    """What a library is for: its file, the platform of its wheel, flags, and zig's name for it (none: not by zig)."""

    file: str
    tag: str
    flags: tuple[str, ...] = ("-fPIC",)
    zig: str | None = None


class Built(NamedTuple):
    """The library, or none, the platform of its wheel, and what was done or what was in the way."""

    file: Path | None
    tag: str
    words: str


class NoLibrary(Exception):
    """A compiler that does not do; its words."""


class NativeBuildHook(BuildHookInterface):
    """Called by the builder: what it needs, then before and after a wheel is put together."""

    _scratch = ""

    def dependencies(self) -> list[str]:
        """What the build environment needs beside the builder."""
        return requirements(os.environ)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile: in place for an editable installation, else into the wheel alone."""
        if version == "editable":
            print(in_place(Path(self.root), os.environ).words, flush=True)
            return
        self._scratch = tempfile.mkdtemp(prefix="gridveil.")
        built = build(Path(self.root), Path(self._scratch), os.environ)
        print(built.words, flush=True)
        if built.file is not None:
            build_data["force_include"][str(built.file)] = f"{PLACE}/{built.file.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{built.tag}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)


def main() -> None:
    """Compile in place, or say what is in the way."""
    try:
        built = in_place(ROOT, os.environ)
    except RuntimeError as error:
        raise SystemExit(str(error)) from None
    if built.file is None:
        raise SystemExit(built.words)
    print(built.words)


def in_place(root: Path, environment: Mapping[str, str]) -> Built:
    """Compile into the package under `src`; a library that could not be made anew is removed, since it is not of these
    sources. Whoever works on sources that no longer compile is told."""
    with tempfile.TemporaryDirectory(prefix="gridveil.") as scratch:
        built = build(root, Path(scratch), environment, strict=True)
        place = root / "src" / PLACE
        for old in place.glob("libgridveil.*"):
            if built.file is None or old.name != built.file.name:
                old.unlink()
        if built.file is None:
            return built
        new = place / f"libgridveil.{os.getpid()}.new"
        shutil.copyfile(built.file, new)
        new.replace(place / built.file.name)  # at once: a process that has the old one open keeps it
        return built._replace(file=place / built.file.name)


def build(root: Path, folder: Path, environment: Mapping[str, str], *, strict: bool = False) -> Built:
    """Compile into a folder with the first compiler that does. `RuntimeError` where the library was demanded and is
    not to be had; if `strict`, also where a compiler works and these sources do not compile."""
    switch, goal = switched(environment), target()
    if switch == "0":
        return Built(None, "any", f"no kernel: {SWITCH}=0")
    if goal is None:
        return _none("there is no kernel for a Python of 32 bits, or for this system", demanded=switch == "1")
    sources, failures = sorted((root / "native").glob("*.c")), list[str]()
    if not sources:
        return _none(f"there are no C sources in {root / 'native'}", demanded=switch == "1")
    commands = [*working(goal, environment), *zig(goal)]
    for command in commands:
        try:
            file = folder / goal.file
            compiled(command, goal, sources, file)
            if (answer := answered(file)) != version(root):
                raise NoLibrary(f"{shlex.join(command)}: its library says {answer}, not {version(root)}")
            return Built(file, platform_tag(file, goal), f"kernel built by {shlex.join(command)}")
        except NoLibrary as failure:
            failures.append(str(failure))
    words = "\n".join(failures) or f"there is no C compiler that works{_of_choice(environment)}, and no wheel 'ziglang'"
    return _none(words, demanded=switch == "1" or (strict and bool(commands)))


def requirements(environment: Mapping[str, str]) -> list[str]:
    """The compiler from the package index, where it is needed and can be had."""
    switch, goal = switched(environment), target()
    if switch == "0" or goal is None or goal.zig is None or working(goal, environment):
        return []
    return [ZIG] if switch == "1" or on_index(environment) else []


def switched(environment: Mapping[str, str]) -> str:
    """What GRIDVEIL_NATIVE says."""
    value = environment.get(SWITCH, "")
    if value not in {"", "0", "1"}:
        raise RuntimeError(f"{SWITCH} is '{value}'; give 0 (no kernel), 1 (not without), or nothing")
    return value


def target() -> Target | None:
    """What a library has to be for, that this Python can load."""
    if sys.maxsize <= 2**32:
        return None
    own = re.sub(r"\W", "_", sysconfig.get_platform())
    if sys.platform == "win32":
        # an emulated Python is not of the machine's kind, but of its own
        zigs = {"win_amd64": "x86_64-windows-gnu", "win_arm64": "aarch64-windows-gnu"}
        return Target("libgridveil.dll", own, ("-static-libgcc",), zigs[own]) if own in zigs else None
    machine = platform.machine()
    if sys.platform == "darwin":
        name, oldest = {"arm64": ("aarch64", "11.0"), "x86_64": ("x86_64", "10.13")}.get(machine, ("", ""))
        flags = ("-fPIC", "-arch", machine, f"-mmacosx-version-min={oldest}")
        tag = f"macosx_{oldest.replace('.', '_')}_{machine}"
        return Target("libgridveil.dylib", tag, flags, f"{name}-macos.{oldest}") if name else None
    if sys.platform == "linux" and machine in {"x86_64", "aarch64"} and platform.libc_ver()[0] == "glibc":
        tag = f"manylinux_2_{OLDEST_GLIBC}_{machine}"
        return Target("libgridveil.so", tag, zig=f"{machine}-linux-gnu.2.{OLDEST_GLIBC}")
    return Target("libgridveil.so", own)


def working(goal: Target, environment: Mapping[str, str]) -> list[list[str]]:
    """The first of the system's compilers whose library this Python can load and call; CC alone, where it is set."""
    for command in candidates(environment):
        with tempfile.TemporaryDirectory(prefix="gridveil.") as scratch:
            source, file = Path(scratch) / "trial.c", Path(scratch) / goal.file
            source.write_text(_TRIAL, encoding="utf-8")
            try:
                compiled(command, goal, [source], file)
                if answered(file) == _TRIAL_ANSWER:
                    return [command]
            except NoLibrary:
                continue
    return []


def candidates(environment: Mapping[str, str]) -> list[list[str]]:
    """Command lines that may be C compilers."""
    if given := environment.get("CC", "").strip():
        return (
            []
            if given == "ziglang"
            else [[word.strip('"') for word in shlex.split(given, posix=sys.platform != "win32")]]
        )
    if sys.platform == "darwin" and _run(["xcode-select", "-p"]).returncode:
        return []  # there `cc` is a program that opens a window and offers to install one
    return [[found] for name in ("cc", "gcc", "clang") if (found := shutil.which(name, path=environment.get("PATH")))]


def zig(goal: Target) -> list[list[str]]:
    """The compiler of the wheel `ziglang`, if it is there."""
    if goal.zig is None or importlib.util.find_spec("ziglang") is None:
        return []
    return [[sys.executable, "-m", "ziglang", "cc", "-target", goal.zig]]


def compiled(command: list[str], goal: Target, sources: list[Path], file: Path) -> None:
    """One library out of all sources, or `NoLibrary` with the compiler's words."""
    flags = () if "ziglang" in command else goal.flags
    words = [*command, *FLAGS, *flags, *(str(one) for one in sources), "-o", str(file), "-lm"]
    with tempfile.TemporaryDirectory(prefix="gridveil.") as cache:
        done = _run(words, ZIG_LOCAL_CACHE_DIR=cache, ZIG_GLOBAL_CACHE_DIR=cache)
    if done.returncode or not file.is_file():
        raise NoLibrary(f"{shlex.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")


def answered(file: Path) -> int:
    """What a library says to the one question, asked in a process of its own: it may be of another machine."""
    done = _run([sys.executable, "-I", "-c", _ASK, str(file)])
    if done.returncode or not done.stdout.strip().isdecimal():
        raise NoLibrary(f"{file.name} cannot be loaded: {done.stderr.strip()[-500:]}")
    return int(done.stdout)


def version(root: Path) -> int:
    """The version that the sources have."""
    found = re.search(r"#define GRIDVEIL_KERNEL_VERSION (\d+)", (root / "native" / "gridveil.h").read_text("utf-8"))
    if found is None:
        raise RuntimeError("native/gridveil.h does not say GRIDVEIL_KERNEL_VERSION")
    return int(found[1])


def platform_tag(file: Path, goal: Target) -> str:
    """The platform that a wheel with this library may claim: the newest glibc whose symbols it asks for."""
    if not goal.tag.startswith("manylinux"):
        return goal.tag
    needed = [int(one) for one in re.findall(rb"\bGLIBC_2\.(\d+)", file.read_bytes())]
    return goal.tag.replace(f"_2_{OLDEST_GLIBC}_", f"_2_{max([OLDEST_GLIBC, *needed])}_")


def on_index(environment: Mapping[str, str]) -> bool:
    """Whether the package index has the wheel, and constraints allow it: a requirement that cannot be met would end the
    installation. Where there is no pip to ask, or no clear answer, whoever installs finds out."""
    # the build's own search path would hide the pip beside this Python
    kept = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    trial = ("install", "--dry-run", "--no-deps", "--ignore-installed", ZIG)  # which may have to download it
    ask = trial if kept.get("PIP_CONSTRAINT") else ("index", "versions", "ziglang")
    more = ("--only-binary", ":all:", "--retries", "0", "--timeout", "10")
    done = _run([sys.executable, "-m", "pip", "--disable-pip-version-check", *ask, *more], kept)
    return not re.search("No matching distribution found|ResolutionImpossible", done.stderr)


def _run(
    words: list[str], environment: Mapping[str, str] | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """A command with what it says, whatever becomes of it."""
    try:
        return subprocess.run(
            words, env={**(os.environ if environment is None else environment), **more}, timeout=SECONDS,
            capture_output=True, text=True, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))


def _of_choice(environment: Mapping[str, str]) -> str:
    given = environment.get("CC", "").strip()
    return f" (CC is '{given}')" if given else ""


def _none(words: str, *, demanded: bool) -> Built:
    if demanded:
        raise RuntimeError(f"no kernel: {words}")
    return Built(None, "any", f"no kernel: {words}")


if __name__ == "__main__":
    main()
