"""Commands that were called wrongly, for programs: with --json among the arguments, one object says what was wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from gridveil.cli.output import reporting
from gridveil.errors import GridVeilError


class Commands(TyperGroup):
    """All commands; those who asked for JSON get errors of usage as JSON too."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **named: Any) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if "--json" not in given or not named.get("standalone_mode", True):
            return super().main(args, *rest, **named)
        with reporting(True):
            try:
                code = super().main(given, *rest, **{**named, "standalone_mode": False})
            except Exception as error:
                # Typer brings Click along or not, by its version: its errors are known by what they can do
                if not hasattr(error, "format_message"):
                    raise
                raise GridVeilError(error.format_message()) from None
        return sys.exit(code if isinstance(code, int) else 0)
