"""Commands that take plain values as they are.

Typer looks at every value with Pydantic, even at a default, and loads it for that, which takes as long as Typer itself.
Defaults, words, and paths that Typer would accept need no such look. All other values get it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup


class LightCommand(TyperCommand):
    """A command whose plain values are taken as they are."""

    def get_params(self, ctx: Any) -> Any:
        return _lightened(super().get_params(ctx))


class LightGroup(TyperGroup):
    """Commands, as above."""

    def get_params(self, ctx: Any) -> Any:
        return _lightened(super().get_params(ctx))


def _lightened(parameters: Any) -> Any:
    for one in parameters:
        if "process_value" not in vars(one):
            _lighten(one)
    return parameters


def _lighten(parameter: Any) -> None:
    look = parameter.process_value
    kind: Any = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)

    def process(ctx: Any, value: Any) -> Any:
        if several and value is None and not parameter.required:
            value = ()
        elif ctx.get_parameter_source(parameter.name).name == "DEFAULT" and not several and not parameter.required:
            pass
        elif _plain(kind, value) and not several:
            value = kind(value)
        else:
            return look(ctx, value)
        return value if parameter.callback is None else parameter.callback(ctx, parameter, value)

    parameter.process_value = process


def _plain(kind: Any, value: Any) -> bool:
    """Is it a word, or a path to nothing or to what can be read?"""
    if kind is Path:
        return isinstance(value, str) and (not os.path.exists(value) or os.access(value, os.R_OK))  # noqa: PTH110
    return kind is str and isinstance(value, str)
