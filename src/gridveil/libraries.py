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
            f"this needs the library {error.name}, which is not installed; {how_to_install(extra)}"
        ) from None


def how_to_install(*extras: str) -> str:
    """How to get the libraries of extras: from the package index, and in a clone of the repository."""
    wanted = ",".join(extras)
    return f"pip install 'gridveil[{wanted}]', or in a clone: pip install -e '.[{wanted}]'"
