"""Every command with its arguments, options and defaults, as the program has them when the site is built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from gridveil.cli.main import app
from website.tables import cell, table

DASHES = re.compile(r"--[\w-]+")


def markdown() -> str:
    """The page."""
    root, context = _root()
    parts = ["## Options of `gridveil` itself", _parameters(root, context)]
    for panel, names in _panels(root, context).items():
        if panel:
            parts.append(f"## {panel}")
        for name in names:
            command = root.get_command(context, name)
            parts += _command(command, _context(command, name, context), "gridveil " + name, 3 if panel else 2)
    return "\n\n".join(parts) + "\n"


def options() -> dict[str, set[str]]:
    """The options of every command, by its words after `gridveil`."""
    root, context = _root()
    found = {"": _switches(root, context)}
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        own = _context(command, name, context)
        found[name] = _switches(command, own)
        for below, inner in _subcommands(command, own):
            found[f"{name} {below}"] = _switches(inner, _context(inner, below, own))
    return found


def _root() -> tuple[Any, Any]:
    root: Any = typer.main.get_command(app)
    return root, root.context_class(root, info_name="gridveil")


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _subcommands(command: Any, context: Any) -> list[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        return []
    return [(name, command.get_command(context, name)) for name in command.list_commands(context)]


def _panels(root: Any, context: Any) -> dict[str, list[str]]:
    """Commands by the panels in which `--help` shows them, in its order."""
    panels: dict[str, list[str]] = {}
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if not command.hidden:
            panels.setdefault(_panel(command) or "", []).append(name)
    if set(panels) == {""}:
        return {"": panels[""]}
    return {panel or "Other commands": names for panel, names in panels.items()}


def _panel(thing: Any) -> str | None:
    panel = getattr(thing, "rich_help_panel", None)
    return panel if isinstance(panel, str) else None


def _command(command: Any, context: Any, path: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{path}`"
    yield _prose(command.help or "")
    below = _subcommands(command, context)
    if not below or getattr(command, "invoke_without_command", False):
        yield f"```\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```"
        yield _parameters(command, context)
    for name, inner in below:
        yield from _command(inner, _context(inner, name, context), f"{path} {name}", level + 1)


def _parameters(command: Any, context: Any) -> str:
    """Tables of arguments and of options, one for each panel of the help."""
    shown = [one for one in command.get_params(context) if not getattr(one, "hidden", False) and one.name != "help"]
    panels: dict[str, list[Any]] = {}
    for one in shown:
        panels.setdefault(_panel(one) or ("Arguments" if _is_argument(one) else "Options"), []).append(one)
    parts = []
    for panel, ones in panels.items():
        rows = [(_written(one), _prose(_explained(one)), _default(one, context)) for one in ones]
        parts.append(f"**{panel}**\n\n" + table(("", "meaning", "default"), rows))
    return "\n\n".join(parts)


def _is_argument(one: Any) -> bool:
    return bool(one.param_type_name == "argument")


def _written(one: Any) -> str:
    """`--alpha TEXT`: as it is typed."""
    kind = one.metavar or _kind(one)
    if _is_argument(one):
        return f"`{one.metavar or one.name.upper()}`"
    names = ", ".join([*one.opts, *one.secondary_opts])
    return f"`{names}`" if one.is_flag else f"`{names} {kind}`"


def _kind(one: Any) -> str:
    annotation = getattr(getattr(one, "type_descriptor", None), "annotation", str)
    words = {"float": "NUMBER", "int": "NUMBER", "Path": "FILE"}
    named = [word for name, word in words.items() if name in str(annotation).replace("'", " ")]
    return named[0] if named else "TEXT"


def _explained(one: Any) -> str:
    words = [one.help or ""]
    annotation = getattr(getattr(one, "type_descriptor", None), "annotation", None)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        words.append("One of " + ", ".join(f"{each.value}" for each in annotation) + ".")
    if not _is_argument(one):
        if one.min is not None and one.max is not None:
            words.append(f"From {one.min:g} to {one.max:g}.")
        elif one.min is not None:
            words.append(f"At least {one.min:g}.")
    if one.multiple:
        words.append("May be given several times.")
    if one.envvar:
        named = [one.envvar] if isinstance(one.envvar, str) else one.envvar
        words.append("Also read from the environment: " + ", ".join(named) + ".")
    return " ".join(words)


def _default(one: Any, context: Any) -> str:
    value = one.get_default(context, call=False)
    if one.required:
        return "must be given"
    if value is None or value is False or value == () or callable(value):
        return "–" if not isinstance(value, bool) else "off"
    if value is True:
        return "on"
    return f"`{value.value if isinstance(value, Enum) else value}`"


def _prose(words: str) -> str:
    """Help as Markdown: no marks of the terminal, options as code."""
    plain = (
        re.sub(r"\[/?(?:bold|dim|italic|red|green|yellow|cyan|blue)?\]", "", words).replace("\b", "").replace("\f", "")
    )
    return DASHES.sub(lambda found: f"`{found[0]}`", cell(" ".join(plain.split())))


def _switches(command: Any, context: Any) -> set[str]:
    return {name for one in command.get_params(context) for name in (*one.opts, *one.secondary_opts) if name[0] == "-"}
