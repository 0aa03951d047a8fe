"""What an attacker could do, and how far two networks are apart. Attacks load what they need when they are called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil.casefile import Case
from gridveil.errors import AttackError
from gridveil.formats.find import load
from gridveil.grid import Network
from gridveil.nlp.rules import Rules
from gridveil.wall.coordinates import Distance
from gridveil.wall.coordinates import distance as distance_of

if TYPE_CHECKING:
    from gridveil.attacks.attack import Attack, Target


def distance(
    one: str | Path | Case | Network | Any,
    other: str | Path | Case | Network | Any,
    alpha: float = 0.1,
    mechanism: str = "log",
) -> Distance:
    """How far two networks are apart, corridor by corridor, in units of α: a mechanism's loss is ε times that.

    Args:
        one: A network.
        other: Another, equal to the first in all that is public.
        alpha: The change that counts as one step.
        mechanism: Whose coordinates: `log`, `additive` or `paper`.

    Returns:
        A distance for every corridor; infinite where a mechanism leaves the change open.

    Raises:
        GridError: The two differ in what is public.

    Examples:
        >>> network = gv.load("case14_ieee")
        >>> gv.distance(network, network).total
        0.0
    """
    return distance_of(load(one), load(other), alpha, mechanism)


def attack(
    case: str | Path | Case | Network | Target | Any,
    released: str | Path | Case | Network | Any | None = None,
    *,
    attacker: str = "real",
    budget: float | None = None,
    count: int | None = None,
    restoration: str | None = None,
    seed: int = 0,
) -> Attack:
    """Cut the lines an attacker would choose, and restore what load of the real network can be served. INTERNAL.

    Args:
        case: The real network, which suffers the damage. For many attacks of one, make a `Target` once: equal sets of
            lines are then restored once.
        released: What the attacker has.
        attacker: `real`, `released`, `public`, `topology`, `random` or `interdiction`.
        budget: How many lines he cuts, in per cent of all.
        count: The same as a number; give one of the two.
        restoration: `switchable` (unless said otherwise) or `literal`, the paper's; a target has its own.
        seed: Of the attacker `random`.

    Returns:
        The lines, the load that is lost and restored, and how similar the attack is to the real one.

    Raises:
        AttackError: An unknown attacker, no budget or two, or a release of another network.

    Examples:
        >>> gv.attack("case14_ieee", count=2)
        Attack('real', 2 lines cut, 22.7 % of the load restored (optimal); INTERNAL)
    """
    from gridveil.attacks.attack import Target
    from gridveil.attacks.attack import attack as attack_target

    target = case if isinstance(case, Target) else Target(load(case), restoration or Rules.SWITCHABLE)
    if restoration not in (None, target.rules):
        raise AttackError(f"this target is restored by '{target.rules}'; make another for '{restoration}'")
    return attack_target(target, attacker, budget, count, None if released is None else load(released), seed)
