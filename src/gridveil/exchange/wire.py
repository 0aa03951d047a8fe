"""JSON of the types that cross the wall. Floats are written so that they read back exactly."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gridveil.exchange.types import Fidelity, NoisyLines, PublicFacts, Repair, Snapshot
from gridveil.grid import Buses, CostCurves, Generators, LineParameters, Lines, OperatingPoint, PublicGrid

_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        PublicGrid, Buses, Generators, Lines, CostCurves, LineParameters, OperatingPoint,
        Snapshot, PublicFacts, NoisyLines, Fidelity, Repair,
    )
}  # fmt: skip


def dumps(value: Any) -> bytes:
    """One of the types above, or a list or mapping of them, as JSON bytes; any other type is refused."""
    return json.dumps(_pack(value), separators=(",", ":")).encode()


def loads(data: bytes) -> Any:
    """The inverse of `dumps`."""
    return _unpack(json.loads(data))


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.dtype.kind, "shape": list(value.shape), "values": value.ravel().tolist()}
    if is_dataclass(value) and type(value).__name__ in _TYPES:
        return {"type": type(value).__name__, **{f.name: _pack(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, tuple | list):
        return [_pack(item) for item in value]
    if isinstance(value, dict):
        return {"map": {key: _pack(item) for key, item in value.items()}}
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise TypeError(f"{type(value).__name__} may not cross the wall")


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["values"], dtype={"f": float, "i": np.int64, "b": bool}[value["array"]]).reshape(
            value["shape"]
        )
    if "map" in value:
        return {key: _unpack(item) for key, item in value["map"].items()}
    kind = _TYPES[value["type"]]
    return kind(**{key: _unpack(item) for key, item in value.items() if key != "type"})
