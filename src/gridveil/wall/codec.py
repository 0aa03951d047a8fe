"""One codec for every type that passes the wall or stands in a bundle: what a type declares, and nothing else.

Through the wall goes MessagePack, with arrays as their bytes: every float comes back as it was. Files hold JSON.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from gridveil.errors import ReleaseError, WallBreach

T = TypeVar("T")


def pack(value: Any) -> bytes:
    """A value whose types declare their fields, as bytes; any other type is refused."""
    return msgspec.msgpack.encode(value, enc_hook=_array_out)


def unpack(data: bytes, kind: type[T]) -> T:
    """The inverse of `pack`."""
    return msgspec.msgpack.decode(data, type=kind, dec_hook=_array_in)


def to_json(value: Any) -> str:
    """JSON text, the same for the same value; a number that JSON does not have becomes null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def from_json(data: bytes | str, kind: type[T]) -> T:
    """A value of a type, or `ReleaseError` with the place and what is wrong there."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ReleaseError(str(error)) from error


def to_plain(value: Any) -> Any:
    """A value as lists, dicts and numbers."""
    return msgspec.to_builtins(value)


def json_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of a type. Sections of its docstrings that are for Python (`Attributes:`, `Examples:`) are left
    out."""
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
    for one in made.get("$defs", {}).values():
        for section in ("Attributes:", "Examples:"):
            if "description" in one:
                one["description"] = one["description"].split(f"\n\n    {section}")[0]
    return made


def _array_out(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fib":
        return (value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes())
    raise WallBreach(f"{type(value).__name__} may not cross the wall")


def _array_in(kind: Any, value: Any) -> Any:
    if getattr(kind, "__origin__", kind) is not np.ndarray:
        raise WallBreach(f"{kind} may not cross the wall")
    dtype, shape, data = value
    return np.frombuffer(data, dtype=np.dtype(dtype)).reshape(shape).copy()
