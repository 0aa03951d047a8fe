"""What the options of `gridveil release` mean that are more than a number or a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.errors import ReleaseError

if TYPE_CHECKING:
    from pathlib import Path

    from gridveil.casefile import Case
    from gridveil.formats.exposed import Exposed
    from gridveil.privacy.noise import Noise


MechanismOption = Annotated[
    str,
    typer.Option(
        help="log, which protects relative changes of lines of any size; additive, for changes in p.u.; or paper, as "
        "published, whose true loss is larger. More than lines needs log."
    ),
]
ProtectOption = Annotated[
    str,
    typer.Option(
        help="Which numbers: lines (as in the paper; all else is then public), ratings, loads, limits, costs (with "
        "commas), or all."
    ),
]
RatingsOption = Annotated[
    str,
    typer.Option(
        help="own: each rating is protected by itself. Or with-impedance if ratings were made from impedances: they "
        "then move with them. To be known without looking at them."
    ),
]
TotalsOption = Annotated[
    str,
    typer.Option(
        help="Where total demand, capacity and merit-order cost of what is protected come from: private (noised and "
        "charged, so that epsilon needs no condition), derived, declared or published."
    ),
]
RoomOption = Annotated[
    float,
    typer.Option(help="Share of every range that a repaired dispatch leaves free; 0 asks for no more than feasible."),
]
CostShareOption = Annotated[
    float, typer.Option(help="Share of epsilon for a private cost; it is spent only if the cost is asked for.")
]
CostSensitivityOption = Annotated[
    float,
    typer.Option(
        help="s: changes of the cost up to this share are protected. A constant, the same for every network, so that "
        "it tells nothing of this one."
    ),
]
TargetOption = Annotated[
    str,
    typer.Option(
        help="What the repair stays near to: the values as drawn, changed no more than needed, or shrunk ones."
    ),
]
BoundOption = Annotated[
    float, typer.Option(help="Released parameters stay within this factor of noisy ones: wide, to find a network.")
]
EffortOption = Annotated[
    float, typer.Option(help="Give a repair up that costs more than so many AC-OPFs; most need a few.")
]


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


def chosen_noise(research: bool, seed: int | None) -> Noise | None:
    """`None` means the exact sampler; a seed is refused for anything but research."""
    from gridveil.privacy.noise import SeededNoise

    if research:
        return SeededNoise(0 if seed is None else seed)
    if seed is not None:
        raise ReleaseError("--seed makes noise that can be taken off again; it is allowed with --research only")
    return None
