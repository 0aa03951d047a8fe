"""A trial watched at every call to the system that changes a file, SQLite's too: Linux on x86-64 only."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from gridveil.process import cores

from .phases import put
from .scene import Scene
from .trial import Outcome, Tell, start

TRACE_ME, GET_REGISTERS, NEXT_CALL, SET_OPTIONS = 0, 12, 24, 0x4200
MARK_CALLS = 1
SYNC = {74: "fsync", 75: "fdatasync"}
BY_HANDLE = {**SYNC, 1: "write", 18: "pwrite", 77: "ftruncate"}
BY_NAME = {
    82: "rename", 264: "renameat", 316: "renameat2", 86: "link", 265: "linkat", 87: "unlink", 263: "unlinkat",
    83: "mkdir", 258: "mkdirat", 84: "rmdir",
}  # fmt: skip
_NAMES = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs"


class Registers(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_ulonglong) for name in _NAMES.split())


def why_not() -> str | None:
    """Why calls cannot be watched here."""
    fits = sys.platform == "linux" and platform.machine() == "x86_64"
    return None if fits else "calls are watched on Linux on x86-64 only"


def watched(
    scene: Scene, folder: Path, before: Callable[[str, int], None], after: Callable[[str, Path], None]
) -> Outcome:
    """A release; `before` each call with the draws made so far, `after` each flush with the file or directory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def inject(tell: Tell) -> None:
        put(cores, "prctl", lambda *_: 0)  # whoever is closed to debuggers cannot be watched
        libc.ptrace(TRACE_ME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        tell("hit")

    pid, streams = start(scene, folder, inject)
    os.set_blocking(streams[2], False)
    os.waitpid(pid, 0)
    libc.ptrace(SET_OPTIONS, pid, None, MARK_CALLS)
    registers, inside, deliver, report = Registers(), False, 0, b""
    status = 0
    while True:
        libc.ptrace(NEXT_CALL, pid, None, deliver)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            break
        number = os.WSTOPSIG(status)
        if number != signal.SIGTRAP | 0x80:
            deliver = number
            continue
        deliver, inside = 0, not inside
        libc.ptrace(GET_REGISTERS, pid, None, ctypes.byref(registers))
        call = int(registers.orig_rax)
        if call in BY_HANDLE:
            path = _path(pid, int(registers.rdi))
            if path is None or not path.is_relative_to(folder):
                continue
        elif call not in BY_NAME:
            continue
        if inside:
            report += _drained(streams[2])
            before({**BY_HANDLE, **BY_NAME}[call], report.count(b"draw\n"))
        elif call in SYNC and path is not None:
            after(SYNC[call], path)
    report += _drained(streams[2])
    stdout, stderr = (_drained(stream).decode() for stream in streams[:2])
    for stream in streams:
        os.close(stream)
    return Outcome(os.waitstatus_to_exitcode(status), stdout, stderr, tuple(report.decode().split("\n")[:-1]), 0.0)


def _path(pid: int, handle: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/fd/{handle}").readlink()
    except OSError:
        return None


def _drained(stream: int) -> bytes:
    try:
        return os.read(stream, 1 << 16)
    except BlockingIOError:
        return b""
