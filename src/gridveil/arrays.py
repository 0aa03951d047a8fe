"""Array aliases and the two habits every type of this package shares: frozen arrays, checked shapes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.errors import GridError

FloatArray: TypeAlias = NDArray[np.float64]
ComplexArray: TypeAlias = NDArray[np.complex128]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


def frozen(values: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """A read-only copy of `values`, or `values` itself if it is read-only: no one changes a network behind another."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and values.base is None and not values.flags.writeable:
        return values
    array = np.array(values, dtype=dtype, order="C")
    array.flags.writeable = False
    return array


def check_length(length: int, **arrays: NDArray[Any]) -> None:
    """Raise `GridError` unless every named array has `length` rows."""
    for name, array in arrays.items():
        if array.ndim == 0 or array.shape[0] != length:
            raise GridError(f"{name} has shape {array.shape}, expected {length} entries")
