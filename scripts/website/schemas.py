"""The JSON schemas of the package as tables, with the meaning of each field from the page of the bundle."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from website.tables import cell, table

FIELD = re.compile(r"^\| `([^`]+)` \| (.+?) \|$", re.MULTILINE)


def markdown(name: str, meanings: Path) -> str:
    """The newest schema of that name."""
    schema = newest(name)
    known = _meanings(meanings)
    first = schema["$ref"].rpartition("/")[2]
    kinds = schema["$defs"]
    parts = []
    for kind in [first, *(one for one in kinds if one != first)]:
        parts += _kind(kind, kinds[kind], known.get(kind, {}))
    return "\n\n".join(parts) + "\n"


def newest(name: str) -> Any:
    """The schema with the highest number."""
    found = [one for one in files("gridveil.schemas").iterdir() if one.name.endswith(f".{name}.json")]
    last = max(found, key=lambda one: int(re.findall(r"-(\d+)\.", one.name)[0]))
    return json.loads(last.read_text(encoding="utf-8"))


def _kind(name: str, made: Any, known: dict[str, str]) -> list[str]:
    words = " ".join(made.get("description", "").split())
    parts = [f"## {name}", cell(words)]
    if "properties" not in made:
        return [*parts, _type(made)]
    needed = set(made.get("required", ()))
    rows = [
        (f"`{field}`", _type(kind), "yes" if field in needed else "no", known.get(field, "").replace("](", "](../"))
        for field, kind in made["properties"].items()
    ]
    return [*parts, table(("field", "type", "required", "meaning"), rows)]


def _type(kind: Any) -> str:
    """A type in words."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(dict.fromkeys(_type(one) for one in kind["anyOf"]))
    if "enum" in kind:
        return ", ".join(f"`{json.dumps(one)}`" for one in kind["enum"])
    if kind.get("type") == "array":
        return "list of " + (_type(kind["items"]) if kind.get("items") else "anything")
    if kind.get("type") == "object":
        inner = kind.get("additionalProperties")
        return "object of " + _type(inner) if isinstance(inner, dict) and inner else "object"
    return str(kind.get("type", "anything")) + _limits(kind)


def _limits(kind: Any) -> str:
    low, high = kind.get("minimum", kind.get("exclusiveMinimum")), kind.get("maximum", kind.get("exclusiveMaximum"))
    bounds = []
    if low is not None and abs(low) < 1e15:
        bounds.append(("≥ " if "minimum" in kind else "> ") + f"{low:g}")
    if high is not None and abs(high) < 1e15:
        bounds.append(("≤ " if "maximum" in kind else "< ") + f"{high:g}")
    return f" ({', '.join(bounds)})" if bounds else ""


def _meanings(page: Path) -> dict[str, dict[str, str]]:
    """`### Manifest` and the table below it, for every kind."""
    sections = re.split(r"^### ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {one.partition("\n")[0].strip(): dict(FIELD.findall(one)) for one in sections[1:]}
