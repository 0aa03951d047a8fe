"""What the options of `gridveil release` mean that are more than a number or a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridveil.errors import ReleaseError

if TYPE_CHECKING:
    from gridveil.privacy.noise import Noise


def given_alphas(**alphas: str | None) -> dict[str, float | str] | None:
    """Those that were given."""
    return {name: value for name, value in alphas.items() if value is not None} or None


def published_totals(texts: list[str] | None) -> dict[str, float] | None:
    """KIND=VALUE of every published total."""
    found = dict[str, float]()
    for text in texts or []:
        kind, equals, value = text.partition("=")
        try:
            found[kind.strip()] = float(value) if equals else float("nan")
        except ValueError:
            found[kind.strip()] = float("nan")
        if found[kind.strip()] != found[kind.strip()]:
            raise ReleaseError(f"--published-total {text} is not of the form demand=6254; give a kind and a number")
    return found or None


def chosen_noise(research: bool, seed: int | None) -> Noise | None:
    """`None` means the exact sampler; a seed is refused for anything but research."""
    from gridveil.privacy.noise import SeededNoise

    if research:
        return SeededNoise(0 if seed is None else seed)
    if seed is not None:
        raise ReleaseError("--seed makes noise that can be taken off again; it is allowed with --research only")
    return None
