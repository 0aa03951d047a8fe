"""The bytes of a regular file up to a size: no pipe that never ends, no device, nothing that fills the memory."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gridveil.errors import CaseFileError

MAX_SIZE = "GRIDVEIL_MAX_SIZE"
"""Environment variable: the largest input file, in MB."""
DEFAULT_MB = 512


def regular_bytes(path: Path, missing: str) -> bytes:
    """All of a file; `missing` is the advice if there is none."""
    try:
        # looked at before it is opened, for opening a pipe waits and opening a device may do something
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind):
            what = "it is a directory" if stat.S_ISDIR(kind) else "it is no regular file"
            raise CaseFileError(path, None, f"the file cannot be read ({what})", "copy its content to a file")
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            refuse_size(path, size)
            content = stream.read(size + 1)
    except FileNotFoundError:
        raise CaseFileError(path, None, "there is no such file", missing) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaseFileError(path, None, f"the file cannot be read ({reason})", "check its permissions") from None
    if len(content) > size:
        raise CaseFileError(path, None, "the file grows while it is read", "wait until it is written, or copy it")
    return content


def small_bytes(path: Path, most: int) -> bytes:
    """All of a regular file of at most so many bytes; an `OSError` says why not."""
    if not stat.S_ISREG(path.stat().st_mode):  # before it is opened, as above
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it takes more than the {most / 2**10:,.0f} KB that are read")
    return content


def refuse_size(path: Path, size: int) -> None:
    """Refuse what is larger than the limit."""
    limit = _limit_mb(path)
    if size > limit * 1_000_000:
        raise CaseFileError(
            path, None, f"it takes {size / 1e6:,.0f} MB, more than the {limit:,g} MB that are read",
            f"if that is meant, allow more with gridveil --max-size MB, or with {MAX_SIZE}=MB in the environment",
        )  # fmt: skip


def _limit_mb(path: Path) -> float:
    text = os.environ.get(MAX_SIZE) or str(DEFAULT_MB)
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < float("inf"):
        raise CaseFileError(path, None, f"{MAX_SIZE} is not a number of MB", f"set it to {DEFAULT_MB}, or unset it")
    return limit
