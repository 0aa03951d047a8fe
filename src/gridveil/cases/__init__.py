"""Small public networks shipped with the package: numbers of PGLib-OPF v23.07 (CC BY 4.0) in our own writing."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path


def names() -> tuple[str, ...]:
    """Names of the shipped cases, smallest first."""
    found = [entry.name.removesuffix(".m") for entry in files(__package__).iterdir() if entry.name.endswith(".m")]
    return tuple(sorted(found, key=lambda name: int("".join(filter(str.isdigit, name.split("_")[0])))))


def path(name: str) -> Path | None:
    """File of a shipped case, by its name (`case39_epri`) or the part before the underscore (`case39`)."""
    for candidate in names():
        if name in (candidate, candidate.split("_")[0]):
            with as_file(files(__package__) / f"{candidate}.m") as file:
                return Path(file)
    return None
