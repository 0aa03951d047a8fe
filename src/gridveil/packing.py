"""One .zip of files in a single form: whatever could differ is fixed here.

Nothing is compressed: the same bytes can be deflated in many ways, and a stream may be followed by others.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Mapping

DAY, MODE, UNIX = 1 << 5 | 1, stat.S_IFREG | 0o644, 3
"""Of every file in a .zip: 1 January 1980, a plain file, made on Unix."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """The archive, its files in the order of their names."""
    bodies, directory, begin = list[bytes](), list[bytes](), 0
    for name in sorted(files):
        data, title = files[name], name.encode()
        about = struct.pack("<HHHHHLLLHH", 20, 0, 0, 0, DAY, zlib.crc32(data), len(data), len(data), len(title), 0)
        bodies += [b"PK\3\4", about, title, data]
        more = struct.pack("<HHHLL", 0, 0, 0, MODE << 16, begin)
        directory += [b"PK\1\2", struct.pack("<H", UNIX << 8 | 20), about, more, title]
        begin += 30 + len(title) + len(data)
    listed = b"".join(directory)
    end = struct.pack("<HHHHLLH", 0, 0, len(files), len(files), len(listed), begin, 0)
    return b"".join([*bodies, listed, b"PK\5\6", end])
