"""Seccomp: of all system calls a process keeps those that arithmetic, memory, threads and open pipes need (Linux).

All others are refused as not permitted: opening, making or removing files, sockets, starting programs or processes,
looking into other processes. What is refused need not be listed, so that calls of later kernels are refused too.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import NamedTuple

from gridveil.process.system import LINUX, SET_NO_NEW_PRIVILEGES, prctl, syscall


class Machine(NamedTuple):
    """An architecture: its name for the kernel's audit, and the numbers of calls."""

    audit: int
    seccomp: int
    clone: int
    clone3: int
    tgkill: int
    allowed: tuple[int, ...]


_ALLOWED: dict[str, tuple[int, int | None]] = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "lseek": (8, 62), "close": (3, 57), "fstat": (5, 80), "poll": (7, None), "ppoll": (271, 73),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "madvise": (28, 233), "getrandom": (318, 278),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "futex": (202, 98), "set_tid_address": (218, 96), "set_robust_list": (273, 99), "rseq": (334, 293),
    "membarrier": (324, 283), "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "getcpu": (309, 168),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153), "getrusage": (98, 165),
    "getpid": (39, 172), "gettid": (186, 178), "uname": (63, 160), "sysinfo": (99, 179),
    "restart_syscall": (219, 128), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""What stays allowed: (number on x86_64, number on aarch64, where there is one)."""
MACHINES = {
    "x86_64": Machine(0xC000003E, 317, 56, 435, 234, tuple(one for one, _ in _ALLOWED.values())),
    "aarch64": Machine(0xC00000B7, 277, 220, 435, 131, tuple(one for _, one in _ALLOWED.values() if one is not None)),
}

_FILTER, _ALL_THREADS = 1, 1
_NUMBER, _AUDIT, _FIRST = 0, 4, 16
"""Offsets in what the filter sees: the call's number, the architecture, the lower half of the first argument."""
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _RETURN, _EQUAL, _ANY_BIT = 0x20, 0x06, 0x15, 0x45
_CLONE_THREAD = 0x00010000


def seccomp() -> bool:
    """Keep all threads of this process to what they need. False where system or architecture do not have it."""
    machine = MACHINES.get(platform.machine()) if LINUX and ctypes.sizeof(ctypes.c_void_p) == 8 else None
    if machine is None:
        return False
    code = ctypes.create_string_buffer(program(machine, os.getpid()))
    count = (len(code) - 1) // 8
    prctl(SET_NO_NEW_PRIVILEGES, 1)
    given = struct.pack("@HP", count, ctypes.addressof(code))
    return syscall(machine.seccomp, _FILTER, _ALL_THREADS, given) == 0


def program(machine: Machine, process: int) -> bytes:
    """The filter: instructions of (code, skip if true, skip if false, number)."""
    no, none = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    code = [(_LOAD, 0, 0, _AUDIT), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    for number in machine.allowed:
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    # the C library then asks clone, whose flags a filter can read
    code += [(_EQUAL, 0, 1, machine.clone3), (_RETURN, 0, 0, none)]
    # threads, but no processes; abort(), but no signals to others
    for number, test, value in ((machine.clone, _ANY_BIT, _CLONE_THREAD), (machine.tgkill, _EQUAL, process)):
        code += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FIRST), (test, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
        code += [(_RETURN, 0, 0, no)]
    code += [(_RETURN, 0, 0, no)]
    return b"".join(struct.pack("=HBBI", *one) for one in code)
