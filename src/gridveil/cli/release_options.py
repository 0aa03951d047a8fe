"""What the options of `gridveil release` mean that are more than a number or a word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gridveil.errors import ReleaseError
from gridveil.wall.protection import Group

if TYPE_CHECKING:
    from pathlib import Path

    from gridveil.casefile import Case
    from gridveil.formats.exposed import Exposed
    from gridveil.privacy.noise import Noise
    from gridveil.publish.plan import Plan
    from gridveil.publish.preview import Preview


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


def kept(text: str | None) -> tuple[bool, bool]:
    """Whether `--keep` has names, and whether it has ids."""
    wanted = {one.strip() for one in (text or "").split(",")} - {""}
    if wanted - {"names", "ids"}:
        raise ReleaseError(f"--keep {text} is unknown; give names, ids or names,ids")
    return "names" in wanted, "ids" in wanted


def given_case(
    case: str, costs: Path | None, limits: Path | None, missing_cost: float | None
) -> tuple[Case, float | None, tuple[Exposed, ...]]:
    """The case with its costs, the price that was invented for some, and what of it stands in shunts; without any cost
    there is no release."""
    from gridveil.casefile.service import generators_in_service
    from gridveil.formats.find import import_case, named_case
    from gridveil.formats.lend import NO_COSTS

    found = import_case(case, None, costs, limits, missing_cost)
    if NO_COSTS in found.losses:
        count = int(generators_in_service(found.case).sum())
        raise ReleaseError(
            f"{case}: none of the {count:,} units in service has a cost, and a release promises one; "
            "give --costs FILE, or one price for all with --missing-cost"
        )
    return named_case(found), found.invented_cost, found.exposed


def asked_too(seen: Preview, plan: Plan, exposed: tuple[Exposed, ...]) -> Preview:
    """The preview with a question for all of a protected group that would be published in shunts."""
    groups = {str(group) for group in Group if group in plan.protection}
    return replace(seen, questions=(*seen.questions, *(one.sentence for one in exposed if one.group in groups)))


def chosen_noise(research: bool, seed: int | None) -> Noise | None:
    """`None` means the exact sampler; a seed is refused for anything but research."""
    from gridveil.privacy.noise import SeededNoise

    if research:
        return SeededNoise(0 if seed is None else seed)
    if seed is not None:
        raise ReleaseError("--seed makes noise that can be taken off again; it is allowed with --research only")
    return None
