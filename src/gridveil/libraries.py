"""Libraries of others, loaded when they are needed and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridveil.errors import GridVeilError


def needed(name: str, extra: str) -> Any:
    """A library, or a sentence that says how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise GridVeilError(
            f"this needs the library {error.name}, which is not installed; pip install 'gridveil[{extra}]'"
        ) from None
