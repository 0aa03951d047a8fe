"""The verdict on ratings, loads, limits and costs, quantity by quantity, by the rule that lines have. INTERNAL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.knowledge import Reader
from gridveil.check.leaks.law import NoiseError
from gridveil.check.leaks.numbers import NUMBER_ATTACKERS, RELEASED, HeldNumbers, number_guesses, numbers_held_by
from gridveil.check.leaks.rule import MANY, SAME, VERDICTS, Error, believed, compared, read_off, relative_error
from gridveil.check.leaks.sight import guarded, noises
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.wall.numbers import logs
from gridveil.wall.protection import GROUP_WORDS, QUANTITIES, Group


@dataclass(frozen=True)
class QuantityReport:
    """What attackers know of one quantity: the noise's own error, that of each, the best, and the verdict."""

    name: str
    words: str
    numbers: int
    noise_error: float
    best_attacker: str
    best_error: float
    verdict: str
    reason: str
    errors: dict[str, Error]


@dataclass(frozen=True)
class GroupReport:
    """A protected group; its verdict is the worst of its quantities'."""

    group: str
    words: str
    verdict: str
    reason: str
    quantities: tuple[QuantityReport, ...]


def examine_groups(truth: Network, readers: Sequence[Reader]) -> tuple[GroupReport, ...]:
    """Every protected group beside the lines; nothing where lines alone are protected."""
    groups = guarded(readers)
    if not groups:
        return ()
    _check_units(truth, readers)
    held = numbers_held_by(readers)
    found = {one.group: list[QuantityReport]() for one in QUANTITIES}
    for group, report in _quantities(truth, held, groups):
        found[group].append(report)
    return tuple(_worst(group, found[group]) for group in groups if found[group])


def _check_units(truth: Network, readers: Sequence[Reader]) -> None:
    if any(
        not np.array_equal(truth.grid.generators.bus, one.network.grid.generators.bus)
        or truth.grid.cost_p.polynomial.shape != one.network.grid.cost_p.polynomial.shape
        for one in readers
    ):
        raise ReleaseError("the files do not have the same units in service; is this the right original?")


def _quantities(truth: Network, held: HeldNumbers, groups: Sequence[Group]) -> Iterator[tuple[Group, QuantityReport]]:
    table, said, moved, known = held.one.table, number_guesses(held), noises(held.one), logs(truth)
    for quantity in QUANTITIES:
        rows, words = table.rows(quantity.name), quantity.people
        if quantity.group not in groups or not len(rows):
            continue
        true = known[quantity.name][table.member[rows]]
        errors = {name: relative_error(np.ones(len(rows)), np.exp(guess[rows] - true)) for name, guess in said.items()}
        noise = believed(errors[RELEASED].median, _law(moved[:, rows]))
        best = min(errors, key=lambda name: errors[name].median)
        found = _unchanged(words, [one.rows[rows] - true for one in held.each]) or read_off(words, errors, best)
        verdict, reason = ("leaks", found) if found else compared(best, errors[best].median, noise)
        yield (
            quantity.group,
            QuantityReport(
                quantity.name, words, len(rows), noise, best, errors[best].median, verdict, f"{words}: {reason}", errors
            ),
        )


def _unchanged(words: str, away: Sequence[FloatArray]) -> str | None:
    """The sentence that says that numbers stand in a release as they are in the original."""
    same = max(float(np.mean(np.abs(np.expm1(one)) <= SAME)) for one in away)
    return f"{same:.0%} of all {words} of the original stand unchanged in a release" if same > MANY else None


def changed_groups(truth: Network, released: Network) -> set[Group]:
    """Groups beside lines of which a release has other numbers than the original."""
    one, other, found = logs(truth), logs(released), set[Group]()
    for quantity in QUANTITIES:
        before, after = one[quantity.name], other[quantity.name]
        same = before.shape == after.shape and np.allclose(before, after, rtol=0.0, atol=SAME)
        if quantity.group is not Group.LINES and not same:
            found.add(quantity.group)
    return found


def _law(moved: FloatArray) -> NoiseError:
    """The median error over the numbers, over draws of the law."""
    medians = np.median(np.abs(np.expm1(np.clip(moved, -50.0, 50.0))), axis=1)
    return NoiseError(float(np.median(medians)), float(np.quantile(medians, 0.05)))


def _worst(group: Group, found: Sequence[QuantityReport]) -> GroupReport:
    worst = max(found, key=lambda one: VERDICTS.index(one.verdict))
    return GroupReport(str(group), GROUP_WORDS[group], worst.verdict, worst.reason, tuple(found))


def attacker_words() -> dict[str, str]:
    """What every attacker of numbers does."""
    return {one.name: one.words for one in NUMBER_ATTACKERS}
