"""All commands: each is loaded when it is called or listed; called wrongly with --json, it says so in one object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer

from gridveil.cli.exits import EXIT_HELP
from gridveil.cli.light import LightCommand, LightGroup
from gridveil.cli.panels import in_panels
from gridveil.errors import GridVeilError

GROUPS: dict[str, dict[str, str]] = {
    "Publish": {
        "release": "release",
        "verify": "verify",
        "ledger": "ledger",
        "leakcheck": "leakcheck",
        "key": "key",
        "audit": "audit",
    },
    "Choose what to protect, and how much": {
        "workbench": "workbench",
        "advise": "advise",
        "exposure": "exposure",
        "profile": "profile",
    },
    "Study": {"draws": "draws", "study": "study", "report": "report", "figure": "report", "attack": "attack"},
    "Tools": {
        "info": "info",
        "opf": "opf",
        "gap": "gap",
        "convert": "convert",
        "cases": "cases",
        "doctor": "doctor",
    },
}
"""All commands by the groups of `--help`, the everyday ones first, and in which file of this room each is: a function
of its name, or an `app` of several."""
COMMANDS = {name: file for group in GROUPS.values() for name, file in group.items()}


class JsonUsage:
    """Those who asked for JSON get errors of usage as JSON too."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **named: Any) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if "--json" not in given or not named.get("standalone_mode", True):
            return super().main(args, *rest, **named)  # type: ignore[misc]
        from gridveil.cli.output import reporting

        with reporting(True):
            try:
                code = super().main(given, *rest, **{**named, "standalone_mode": False})  # type: ignore[misc]
            except Exception as error:
                # Typer brings Click along or not, by its version: its errors are known by what they can do
                if not hasattr(error, "format_message"):
                    raise
                raise GridVeilError(error.format_message()) from None
        return sys.exit(code if isinstance(code, int) else 0)


class OneCommand(JsonUsage, LightCommand):
    """A command that is a program of its own."""


class Commands(JsonUsage, LightGroup):
    """All commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _command(cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:  # Typer suggests what is loaded
            for name in COMMANDS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


def _command(name: str) -> Any:
    module = import_module(f"gridveil.cli.{COMMANDS[name]}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        app.command(name, epilog=EXIT_HELP, cls=LightCommand)(getattr(module, name))
    command: Any = typer.main.get_command(app)
    command.name = name
    command.rich_help_panel = next(title for title, group in GROUPS.items() if name in group)
    in_panels(name, command.params)
    return command
