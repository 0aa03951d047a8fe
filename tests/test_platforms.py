"""macOS and Windows, simulated: what they lack has a branch, and the branch works."""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridveil import files
from gridveil.cli import doctor, process
from gridveil.cli.doctor import State
from gridveil.errors import ReleaseError
from gridveil.nlp import ipopt_library
from gridveil.privacy import keeping
from gridveil.process import confine, cores, limits, start, system
from gridveil.publish import staging

ROOT = Path(__file__).parents[1]
WINDOWS = """
import builtins, sys
from importlib import import_module
names, real = sys.argv[1:], builtins.__import__
for name in names:  # first as it is, so that libraries of others are there
    import_module(name)
for name in [one for one in sys.modules if one.split(".")[0] in {"gridveil", "fcntl", "resource"}]:
    del sys.modules[name]
sys.platform = "win32"
def without(name, *rest, **more):
    if name in {"fcntl", "resource", "pwd", "grp", "termios"}:
        raise ImportError(name)
    return real(name, *rest, **more)
builtins.__import__ = without
for name in names:
    import_module(name)
print(len(names))
"""


def modules() -> list[str]:
    """Every module that the core can load."""
    found = sorted((ROOT / "src").rglob("*.py"))
    names = [".".join(one.relative_to(ROOT / "src").with_suffix("").parts) for one in found]
    heavy = ("gridveil.study.", "gridveil.report.", "gridveil.cli", "gridveil.__main__", "gridveil.process.boot")
    return [one.removesuffix(".__init__") for one in names if not one.startswith(heavy)]


def test_modules_load_without_what_only_posix_has() -> None:
    """The package, its modules one by one, in a Python that says it is Windows and has neither fcntl nor resource."""
    names = [one for one in modules() if "powsybl" not in one]
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS, *names, "gridveil.study.peak", "gridveil.study.store"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the system, and no calls of Linux."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(system, "LINUX", False)
    monkeypatch.setattr(cores, "LINUX", False)
    for module in (confine, limits, cores):
        monkeypatch.delattr(module, "resource", raising=False)


@pytest.mark.usefixtures("windows")
def test_windows_confines_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.process.landlock.LINUX", False)
    monkeypatch.setattr("gridveil.process.seccomp.LINUX", False)
    monkeypatch.delattr(signal, "SIGKILL")
    limits.settle()  # which sets no limit, and fails at none
    assert confine.confine() == ()
    cores.no_core_files()
    with cores.core_dumps_off():
        assert not cores.cores_are_off()


def test_doctor_says_what_a_system_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LINUX", True)
    assert doctor.LOOKS["system"]().state is State.OK
    monkeypatch.setattr(system, "LINUX", False)
    monkeypatch.setattr(sys, "platform", "darwin")
    on_macos = doctor.LOOKS["system"]()
    monkeypatch.setattr(sys, "platform", "win32")
    on_windows = doctor.LOOKS["system"]()
    assert (on_macos.state, on_windows.state) == (State.NOTE, State.NOTE)
    assert "not kept from files and network" in on_macos.found and "two studies" not in on_macos.found
    for words in ("not kept from files and network", "who may read a ledger", "two studies", "crash dumps"):
        assert words in on_windows.found


def test_a_child_has_a_group_of_its_own_on_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **more: given.update(more))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    start.isolated("gridveil.repair.child")
    assert given["creationflags"] == 0x200
    assert "SYSTEMROOT" in start.environment({"SYSTEMROOT": "C:\\Windows", "SECRET": "x"})


def test_a_directory_that_cannot_be_removed_while_it_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def in_use(_: Path) -> None:
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "rmdir", in_use)
    with start._nowhere() as place:
        pass
    assert list(Path(place).iterdir()) == []


def test_who_cannot_write_cannot_flush_on_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows flushes what is open for writing alone, and no directory."""
    flushed, modes = list[int](), dict[int, int]()
    real = os.open

    def opened(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        handle = real(path, flags, *rest, **more)
        modes[handle] = flags & os.O_ACCMODE
        return handle

    def flush(handle: int) -> None:
        if modes.get(handle) == os.O_RDONLY:
            raise OSError(errno.EBADF, "bad file descriptor")
        flushed.append(handle)

    file = tmp_path / "a"
    file.write_bytes(b"1")
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(OSError, match="bad file"):
        files.sync_file(file)  # so it would go as on POSIX
    windows = SimpleNamespace(**{**vars(os), "name": "nt", "fsync": flush, "open": opened})
    monkeypatch.setattr(files, "os", windows)
    files.sync_file(file)
    files.sync_directory(tmp_path)
    assert len(flushed) == 1


# Bundles and ledgers without locks, exchange and links


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("before", ["nothing", "empty", "full"])
def test_a_bundle_is_staged_on_windows(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def strict(self: Path, target: Any) -> Any:
        if Path(target).exists():
            raise FileExistsError(errno.EEXIST, "exists")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", strict)
    target = tmp_path / "out"
    if before != "nothing":
        target.mkdir()
    if before == "full":
        (target / "old").write_text("1")
        with pytest.raises(staging.Taken), staging.staged(target) as new:
            (new / "file").write_text("2")
        assert (target / "old").read_text() == "1"
    with staging.staged(target, force=before == "full") as new:
        (new / "file").write_text("2")
    assert [one.name for one in target.iterdir()] == ["file"]
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    staging.tidy(tmp_path)


@pytest.mark.usefixtures("windows")
def test_nothing_is_tidied_where_nothing_is_locked(tmp_path: Path) -> None:
    left = tmp_path / ".gridveil.abcdefgh"
    (left / "new").mkdir(parents=True)
    staging.tidy(tmp_path)
    assert left.is_dir()


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EINVAL])
def test_one_file_without_links(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without links: FAT, whatever the system calls it."""

    def no_links(*_: object) -> None:
        raise OSError(number, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    staging.write_staged(tmp_path / "one.zip", b"data")
    assert (tmp_path / "one.zip").read_bytes() == b"data"
    with pytest.raises(ReleaseError, match="exists"):
        staging.write_staged(tmp_path / "one.zip", b"other")


@pytest.mark.usefixtures("windows")
def test_a_restoration_without_locks(tmp_path: Path) -> None:
    with keeping._alone(tmp_path / "ledger.db"):
        assert list(tmp_path.iterdir()) == []
        with keeping._alone(tmp_path / "ledger.db"):
            pass


# The solver's library, streams, signals, memory


@pytest.mark.parametrize(
    ("suffix", "names", "found"),
    [
        ("dll", ["libipopt.dll.a", "libipopt-3.dll", "libsipopt-3.dll"], "libipopt-3.dll"),
        ("dylib", ["libipopt.3.dylib", "libipopt.dylib", "libsipopt.dylib"], "libipopt.dylib"),
        ("so", ["libipopt.so.3", "libsipopt.so", "libipopt.so"], "libipopt.so"),
    ],
)
def test_the_library_in_the_wheels(
    suffix: str, names: list[str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of files in casadi 3.8.2's wheels for Windows, macOS and Linux."""
    for name in names:
        (tmp_path / name).touch()
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(ipopt_library, "_SUFFIX", suffix)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: spec)
    ipopt_library.find_library.cache_clear()
    try:
        assert ipopt_library.find_library(None).name == found
    finally:
        ipopt_library.find_library.cache_clear()


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_a_console_without_our_letters(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    process.open_streams()
    print("ε = 1 → ✓ done", flush=True)  # noqa: T201
    assert raw.getvalue().endswith(b" done\n")


def test_requests_that_a_system_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridveil import requests

    for name in requests._NAMES:
        if name not in {"SIGINT", "SIGTERM"}:
            monkeypatch.delattr(signal, name, raising=False)
    assert set(requests._requests()) <= {signal.SIGINT, signal.SIGTERM}
    with requests.deferring():
        pass


@pytest.mark.parametrize(("platform", "raw", "mb"), [("darwin", 3 * 2**20, 3.0), ("linux", 3 * 2**10, 3.0)])
def test_peak_memory_in_the_units_of_the_system(
    platform: str, raw: int, mb: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peak = importlib.import_module("gridveil.study.peak")
    monkeypatch.setattr(peak, "STATUS", tmp_path / "none")
    monkeypatch.setattr(peak, "CLEAR", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(peak.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=raw))
    assert peak._reset_peak() == mb


def test_peak_memory_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peak = importlib.import_module("gridveil.study.peak")
    psutil = pytest.importorskip("psutil")
    found = SimpleNamespace(memory_info=lambda: SimpleNamespace(peak_wset=5 * 2**20))
    monkeypatch.setattr(peak, "STATUS", tmp_path / "none")
    monkeypatch.setattr(psutil, "Process", lambda: found)
    monkeypatch.setattr(sys, "platform", "win32")
    assert peak._peak() == 5.0
