"""Processes of our own: what they run, what they see, what they may, and how they end."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import gridveil as gv
from gridveil.errors import ReleaseError
from gridveil.process import limits
from gridveil.process.cores import core_dumps_off, cores_are_off
from gridveil.process.landlock import rights
from gridveil.process.seccomp import MACHINES, program
from gridveil.process.start import environment, isolated, search_path
from gridveil.repair import child
from gridveil.repair.child import ChildWorkshop
from gridveil.repair.workshop import Workshop
from gridveil.study.questions.scale import measure

from .conftest import charged

LINUX = sys.platform == "linux"
PACKAGE = Path(gv.__file__).parent


@contextmanager
def probe() -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    with isolated("tests.isolated_probe") as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


# What is run


@pytest.mark.parametrize("trap", ["json.py", "gridveil/__init__.py", "numpy.py", "sitecustomize.py"])
def test_nothing_of_the_working_directory_is_run(trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / trap).parent.mkdir(exist_ok=True)
    (tmp_path / trap).write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # as in an interactive session
    monkeypatch.setenv("PYTHONPATH", os.pathsep + str(PACKAGE.parent))  # an empty entry: the working directory
    ChildWorkshop().close()
    assert not (tmp_path / "sprung").exists()


def test_a_measurement_of_memory_runs_nothing_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    (row,) = measure(gv.load("case3"), {"mechanism": "log", "alpha": 0.1}, 1)
    assert 0 < row["opf_mb"] < 1000
    assert not (tmp_path / "sprung").exists()


PARENT = """
from gridveil.repair import child
child.ChildWorkshop().close()
print(child.__file__, child.GREETING)
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with another copy of the package, whose parent and child greet each other in their own way."""
    place = tmp_path_factory.mktemp("other")
    shutil.copytree(PACKAGE, place / "gridveil", ignore=shutil.ignore_patterns("__pycache__"))
    path = place / "gridveil" / "repair" / "child.py"
    path.write_text(path.read_text().replace('GREETING = b"ready', 'GREETING = b"hello'))
    return place


def python(executable: str | Path, cwd: Path, **variables: str) -> str:
    kept = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run([executable, "-c", PARENT], cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_child_runs_its_parents_package(other: Path, tmp_path: Path) -> None:
    """By PYTHONPATH, absolute or relative; from the working directory; installed in place or as a copy."""
    found = f"{other / 'gridveil' / 'repair' / 'child.py'} b'hello"
    assert python(sys.executable, tmp_path, PYTHONPATH=str(other)).startswith(found)
    assert python(sys.executable, other.parent, PYTHONPATH=other.name).startswith(found)
    assert python(sys.executable, other).startswith(found)
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    libraries = sysconfig.get_paths()["platlib"]
    (site / "editable.pth").write_text(f"{other}\n{libraries}\n")
    assert python(tmp_path / "env" / "bin" / "python", tmp_path).startswith(found)
    (site / "editable.pth").write_text(f"{libraries}\n")
    shutil.copytree(other / "gridveil", site / "gridveil")
    assert python(tmp_path / "env" / "bin" / "python", tmp_path).startswith(f"{site / 'gridveil'}")


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert search_path()
    ChildWorkshop().close()


# What is seen


def test_the_environment_is_minimal() -> None:
    given = {
        "HOME": "/home/me", "PYTHONPATH": "/x", "PYTHONSTARTUP": "/x.py", "LD_PRELOAD": "/x.so", "AWS_SECRET_KEY": "s",
        "GRIDVEIL_LINEAR_SOLVER": "ma57", "GRIDVEIL_IPOPT": "libipopt.so", "GRIDVEIL_HSL": "libhsl.so",
        "OMP_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell", "LD_LIBRARY_PATH": "/opt/lib",
    }  # fmt: skip
    kept = environment(given)
    assert kept == {
        "GRIDVEIL_LINEAR_SOLVER": "ma57", "GRIDVEIL_IPOPT": str(Path.cwd() / "libipopt.so"), "GRIDVEIL_HSL": "libhsl.so",
        "OMP_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell", "LD_LIBRARY_PATH": "/opt/lib",
    }  # fmt: skip
    assert environment({"GRIDVEIL_HSL": "lib/libhsl.so"}) == {"GRIDVEIL_HSL": str(Path.cwd() / "lib/libhsl.so")}


def test_a_process_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isolated, with a minimal environment, in an empty directory that is gone already, within its limits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("A_PASSWORD", "secret")
    with probe() as (_, seen):
        assert list(tmp_path.iterdir()) == []
    assert "A_PASSWORD" not in seen["environment"]
    assert not any(name.startswith("PYTHON") for name in seen["environment"])
    assert seen["flags"] == [1, 1, 1, 1]
    assert seen["here"] == []
    assert seen["session"]
    assert seen["limits"] == {"RLIMIT_AS": limits.MEMORY, "RLIMIT_CPU": limits.CPU_SECONDS, "RLIMIT_CORE": 0}


def test_a_solver_that_is_named_from_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gridveil.nlp.ipopt_library import find_library

    (tmp_path / "mine.so").symlink_to(find_library(None))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRIDVEIL_IPOPT", "mine.so")
    ChildWorkshop().close()


# How it begins and ends


def impostor(monkeypatch: pytest.MonkeyPatch, code: str) -> list[subprocess.Popen[bytes]]:
    """Let this code run where the child should; the processes that were started."""
    started = []

    def start(_: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        started.append(subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe))
        return started[-1]

    monkeypatch.setattr(child, "isolated", start)
    return started


WRONG = {
    "ended with code 3: oh no; 'gridveil doctor'": "import sys; sys.stderr.write('oh no'); sys.exit(3)",
    "ended by signal 9": "import os; os.kill(os.getpid(), 9)",
    "answers what nobody asked: I am chatty": "import sys, time; sys.stderr.write('I am chatty'); sys.stderr.flush(); "
    "print('Hello, I am a library and print things', flush=True); time.sleep(600)",
    "ended with code 0": "import os, struct; os.write(1, struct.pack('>Q', 4) + b'rudy')",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_child_that_begins_wrongly_is_met_before_the_charge(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = impostor(monkeypatch, WRONG[words])
    ledger = gv.Ledger.open(tmp_path / "ledger.db")
    with pytest.raises(ReleaseError, match=words):
        gv.release(gv.seal("case3"), gv.Plan(1.0, 0.1, 0.01), ledger)
    assert charged(ledger) == []
    assert started[0].poll() is not None


def test_a_child_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ReleaseError, match=r"cannot be started: .*nowhere.*; 'gridveil doctor'"):
        ChildWorkshop()
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ReleaseError, match="does not know where its interpreter is"):
        ChildWorkshop()


def test_a_child_that_never_greets(monkeypatch: pytest.MonkeyPatch) -> None:
    impostor(monkeypatch, "import time; time.sleep(600)")
    monkeypatch.setattr(child, "START_SECONDS", 0.2)
    with pytest.raises(ReleaseError, match="signal 9"):
        ChildWorkshop()


def test_a_child_says_in_a_sentence_why_it_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDVEIL_LINEAR_SOLVER", "abacus")
    with pytest.raises(ReleaseError, match="ended with code 1: there is no linear solver 'abacus'") as caught:
        ChildWorkshop()
    assert "Traceback" not in str(caught.value)


def test_a_child_that_says_much_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million bytes of warnings, before the greeting and after: nobody waits for anybody."""
    greeting = child.GREETING + b"one two"
    message = struct.pack(">Q", len(greeting)) + greeting
    code = f"import os, sys; much = b'w' * 2**20; os.write(2, much); os.write(1, {message!r}); "
    impostor(monkeypatch, code + "os.write(2, much); os.write(2, b'the end'); sys.stdin.read(8); sys.exit(4)")
    with closing(ChildWorkshop()) as shop:
        assert shop.confined == ("one", "two")
        with pytest.raises(ReleaseError, match=r"code 4: w+the end$"):
            shop.estimate([])


def test_the_end_of_the_parent_is_the_end_of_a_busy_child(tmp_path: Path) -> None:
    if not LINUX:
        pytest.skip("only Linux ends a process with its parent")
    code = "from gridveil.process.start import isolated; p = isolated('tests.isolated_probe'); "
    code += "print(p.stdout.readline().decode(), flush=True); p.wait()"
    path = os.pathsep.join((str(Path(__file__).parents[1]), str(PACKAGE.parent)))
    variables = {**os.environ, "PYTHONPATH": path}
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=variables, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent, parent.stdout:
        pid = json.loads(parent.stdout.readline())["pid"]
        assert _alive(pid)
        parent.kill()
    deadline = time.monotonic() + 20
    while _alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# What is forbidden

ACTS = """
import os, socket, subprocess, threading, json, errno, sys, ctypes, platform
from gridveil.process.{module} import {door}
os.pipe(); libc = ctypes.CDLL(None, use_errno=True)
def execute(): os.execv("/bin/true", ["true"])
def ptrace():
    if libc.ptrace(16, os.getppid(), None, None): raise OSError(ctypes.get_errno(), "ptrace")
def thread():
    one = threading.Thread(target=lambda: bytearray(10**7)); one.start(); one.join()
def connect():
    try: tcp.connect(("127.0.0.1", 9))
    except ConnectionRefusedError: pass
acts = dict(
    read=lambda: open("/etc/hostname").close(), write=lambda: open("new", "w").close(), listing=lambda: os.listdir("/"),
    remove=lambda: os.unlink("old"), make=lambda: os.mkdir("dir"), truncate=lambda: os.truncate("old", 0),
    append=lambda: os.write(kept, b"more"), signal=lambda: os.kill(os.getppid(), 0), connect=connect,
    socket=lambda: socket.socket().close(), unix=lambda: socket.socket(socket.AF_UNIX).close(), ptrace=ptrace,
    process=lambda: os.fork() or os._exit(0), program=execute,
    thread=thread, memory=lambda: len(bytearray(10**8)), pipe=lambda: os.write(2, b""),
)
open("old", "w").close(); kept = os.open("old", os.O_WRONLY); tcp = socket.socket()
closed = {door}()
said = {{}}
for act in {acts}:
    try: acts[act](); said[act] = ""
    except OSError as error: said[act] = errno.errorcode[error.errno]
print(json.dumps([closed, said]))
"""
READING = ("read", "write", "listing", "remove", "make", "truncate", "program")
HARMLESS = ("thread", "memory", "pipe")
DOORS = {
    "landlock": ("landlock", "EACCES", READING, ("append", *HARMLESS)),
    "descriptors": ("confine", "EMFILE", ("read", "write", "listing", "socket", "unix"), HARMLESS),
    "seccomp": (
        "seccomp", "EPERM", (*READING, "signal", "connect", "socket", "unix", "ptrace", "process"), ("append", *HARMLESS),
    ),
}  # fmt: skip


def behind(door: str, acts: tuple[str, ...], tmp_path: Path) -> dict[str, str]:
    code = ACTS.format(module=DOORS[door][0], door=door, acts=acts)
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    closed, said = json.loads(done.stdout)
    if not closed:
        pytest.skip(f"this system has no {door}")
    assert isinstance(said, dict)
    return said


@pytest.mark.parametrize("door", DOORS)
def test_a_closed_door(door: str, tmp_path: Path) -> None:
    """Each door by itself: what it forbids is refused, and what the work needs is not."""
    _, word, forbidden, allowed = DOORS[door]
    said = behind(door, (*allowed, *forbidden), tmp_path)
    assert said == {**dict.fromkeys(allowed, ""), **dict.fromkeys(forbidden, word)}


def test_the_child_is_behind_closed_doors() -> None:
    """In the kernel's words, before it has got anything to work on."""
    with closing(ChildWorkshop()) as shop:
        if not LINUX:
            assert "landlock" not in shop.confined
            return
        status = Path(f"/proc/{shop._process.pid}/status").read_text()
        told = dict(line.split(":", 1) for line in status.splitlines())
        assert ("seccomp" in shop.confined) == (told["Seccomp"].strip() == "2")
        if shop.confined:
            assert told["NoNewPrivs"].strip() == "1"
        most = Path(f"/proc/{shop._process.pid}/limits").read_text()
        assert ("descriptors" in shop.confined) == ("Max open files            0 " in most)


def test_a_child_that_reaches_for_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: Path
) -> None:
    """Planted: a repair that writes what it was given beside it."""
    shutil.copytree(other / "gridveil", tmp_path / "gridveil")
    shop = tmp_path / "gridveil" / "repair" / "workshop.py"
    planted = f"        open({str(tmp_path / 'leak')!r}, 'w').write('noise')\n"
    text = shop.read_text()
    mark = '        """Take up a draw; `told` hears how many AC-OPFs it has cost so far."""\n'
    assert mark in text
    shop.write_text(text.replace(mark, mark + planted))
    code = (
        "import gridveil as gv; gv.release(gv.seal('case3'), gv.Plan(1.0, 0.1, 0.01), noise=gv.SeededNoise(1))"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert "the repair process ended with code 1" in done.stderr
    assert "leak'" in done.stderr  # it is this that was refused
    assert not (tmp_path / "leak").exists()


def filtered(machine: str, number: int, first: int = 0, audit: int | None = None) -> int:
    """What the filter answers, by a small interpreter of its four instructions."""
    code = list(struct.iter_unpack("=HBBI", program(MACHINES[machine], 4242)))
    memory = {0: number, 4: MACHINES[machine].audit if audit is None else audit, 16: first}
    place = value = 0
    while True:
        what, yes, no, k = code[place]
        place += 1
        if what == 0x20:
            value = memory[k]
        elif what == 0x06:
            return int(k)
        else:
            place += yes if (value == k if what == 0x15 else value & k) else no


ALLOW, KILL, NO, NONE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
# open openat openat2 creat memfd_create socket connect execve execveat fork vfork ptrace process_vm_readv kill unlink
# unlinkat rename mount bpf io_uring_setup prctl prlimit64 shmget
REFUSED = {
    "x86_64": (2, 257, 437, 85, 319, 41, 42, 59, 322, 57, 58, 101, 310, 62, 87, 263, 82, 165, 321, 425, 157, 302, 29),
    "aarch64": (56, 437, 279, 198, 203, 221, 281, 117, 270, 129, 35, 38, 40, 280, 425, 167, 261, 194),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_of_every_architecture(machine: str) -> None:
    """Checked by the numbers, since one machine runs one architecture only."""
    numbers = MACHINES[machine]
    for number in numbers.allowed:
        assert filtered(machine, number) == ALLOW
    for number in (*REFUSED[machine], 5000, 0x40000000 | numbers.allowed[0]):
        assert filtered(machine, number) == NO
    assert filtered(machine, numbers.clone3) == NONE
    thread, process = 0x3D0F00, 0x01200011
    assert filtered(machine, numbers.clone, thread) == ALLOW
    assert filtered(machine, numbers.clone, process) == NO
    assert filtered(machine, numbers.tgkill, 4242) == ALLOW
    assert filtered(machine, numbers.tgkill, 4243) == NO
    assert filtered(machine, numbers.allowed[0], audit=0x40000003) == KILL


def test_rights_by_version() -> None:
    sizes = {
        version: struct.unpack(f"={len(rights(version)) // 8}Q", rights(version)) for version in (1, 2, 3, 4, 5, 6, 9)
    }
    assert sizes[1] == (0x1FFF,)
    assert sizes[2] == (0x3FFF,)
    assert sizes[3] == (0x7FFF,)
    assert sizes[4] == (0x7FFF, 3)
    assert sizes[5] == (0xFFFF, 3)
    assert sizes[6] == sizes[9] == (0xFFFF, 3, 3)


@pytest.mark.parametrize(("case", "alpha"), [("case3", 1.0), ("case14", 0.3), ("case30", 1.0), ("case118", 0.1)])
def test_behind_closed_doors_the_same_is_released(case: str, alpha: float) -> None:
    def made(workshop: Callable[[], Any]) -> str:
        plan = gv.Plan(1.0, alpha, 0.01)
        return gv.release(gv.seal(case), plan, noise=gv.SeededNoise(3), workshop=workshop).text

    assert made(ChildWorkshop) == made(Workshop)


# Core dumps


def test_core_dumps_are_off_while_anyone_is_inside() -> None:
    before = cores_are_off()
    with core_dumps_off():
        assert cores_are_off()

        def other() -> None:
            with core_dumps_off():
                pass

        thread = Thread(target=other)
        thread.start()
        thread.join()
        assert cores_are_off()
    assert cores_are_off() == before


CRASH = """
import os, resource, sys
from contextlib import nullcontext
from gridveil.process.cores import core_dumps_off
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
with core_dumps_off() if sys.argv[1] == "off" else nullcontext():
    os.abort()
"""


def test_a_crash_leaves_no_core(tmp_path: Path) -> None:
    def crash(how: str) -> int:
        variables = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
        pid = os.fork()
        if pid == 0:
            os.chdir(tmp_path)
            os.execve(sys.executable, [sys.executable, "-c", CRASH, how], variables)
        status = os.waitpid(pid, 0)[1]
        assert os.WTERMSIG(status) == signal.SIGABRT
        return status

    assert not os.WCOREDUMP(crash("off"))
    if LINUX and Path("/proc/sys/kernel/core_pattern").read_text().strip() == "core":
        import resource

        if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
            assert os.WCOREDUMP(crash("on"))  # the test can tell
