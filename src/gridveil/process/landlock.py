"""Landlock: a process gives up files, TCP and signals to others for good (Linux 5.13 and later)."""

from __future__ import annotations

import os
import struct

from gridveil.process.system import LINUX, SET_NO_NEW_PRIVILEGES, prctl, syscall

_CREATE, _RESTRICT = 444, 446
"""Numbers of landlock_create_ruleset and landlock_restrict_self, on every architecture."""
_ASK_VERSION = 1


def landlock() -> bool:
    """Forbid this thread to open, run, make, change or remove any file, to use TCP, and to signal other processes.

    Files that are open stay open. False where the system does not have it.
    """
    version = syscall(_CREATE, None, 0, _ASK_VERSION) if LINUX else 0
    if version < 1:
        return False
    attributes = rights(version)
    rules = syscall(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        prctl(SET_NO_NEW_PRIVILEGES, 1)
        return syscall(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def rights(version: int) -> bytes:
    """All rights that a version knows, as the kernel's structure: since no rule gives one back, all are denied."""
    files = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    masks = [2**files - 1]  # execute, read, write, list, make, remove; refer; truncate; device control
    if version >= 4:
        masks.append(0b11)  # bind and connect by TCP
    if version >= 6:
        masks.append(0b11)  # abstract sockets and signals out of this domain
    return struct.pack(f"={len(masks)}Q", *masks)
