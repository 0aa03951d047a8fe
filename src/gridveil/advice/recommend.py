"""The advice: every choice that was tried with what it came to, the best by the goals, and why."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gridveil.advice.choice import Choice
from gridveil.advice.explore import Explored
from gridveil.advice.goals import Goals, Outcome, margins, outcome, score
from gridveil.advice.search import ranked
from gridveil.advice.stand_in import StandIn
from gridveil.advice.standing import by_stand_in, standings
from gridveil.errors import GridVeilError
from gridveil.privacy.ledger import Ledger
from gridveil.publish.elements import SameAs
from gridveil.publish.preview import preview
from gridveil.sealed.split import Sealed
from gridveil.wall.mechanisms import WORDS

CLOSE = 0.95
"""A choice that stands this near to the best is as good: what spends less is then preferred."""
COMPARED = 8
"""Choices that are compared, at least: half of the first table, as the other half falls out of it."""
SAYS = {
    "hide": "what a reader can guess of a reactance",
    "keep-cost": "the dispatch cost",
    "keep-gap": "the optimality gap",
    "hide-flows": "what an attacker finds beyond a map",
    "repairs": "repairs that fail",
}


@dataclass(frozen=True)
class Line:
    """A row of the table: a choice, its figures over all trials, its least margin, what would be left of the budget
    after it, which share of the best margin it reaches on the mean stand-in, and on how many it was tried."""

    choice: Choice
    outcome: Outcome
    score: float
    margins: Mapping[str, float]
    left: float | None
    standing: float = 1.0
    tried_on: int = 1


@dataclass(frozen=True, eq=False)
class Advice:
    """What to choose, and why. It depends on stand-ins, on the structure of the network, and on the ledger alone.

    Attributes:
        goals: What was wanted.
        lines: All that was tried, the best first.
        best: The recommended one; `None` where nothing could be tried.
        reason: Why, in a sentence.
        command: The release, ready to run.
        stand_ins: What was tried on, in words.
        seconds: How long it took.
        settled: Whether more time would have changed nothing that was asked for.

    Examples:
        >>> small = gv.StandIn("case5_pjm", gv.load("case5_pjm"), "a small public network")
        >>> space = gv.Space(groups=("L",), alphas=(0.1,), epsilons=(1.0,), betas=(0.01,), mechanisms=("log",))
        >>> found = gv.advise(gv.seal("case14_ieee"), stand_ins=[small], space=space, minutes=0.02, workers=1)
        >>> found.stand_ins
        ('a small public network',)
    """

    goals: Goals
    lines: tuple[Line, ...]
    best: Line | None
    reason: str
    command: str
    stand_ins: tuple[str, ...]
    seconds: float
    settled: bool

    @property
    def met(self) -> bool:
        """Does the recommended choice meet every goal? One that could not be measured is not met."""
        return self.best is not None and self.best.score >= 1 and not _unseen(self.goals, self.best)

    def __repr__(self) -> str:
        what = "nothing could be tried" if self.best is None else self.best.choice.words
        return f"Advice({what}; {'meets' if self.met else 'does not meet'} the goals; {len(self.lines)} settings tried)"

    def record(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "goals": asdict(self.goals),
            "recommended": None if self.best is None else _record(self.best),
            "meets_goals": self.met,
            "reason": self.reason,
            "command": self.command,
            "stand_ins": list(self.stand_ins),
            "seconds": round(self.seconds, 1),
            "settled": self.settled,
            "settings": [_record(line) for line in self.lines],
        }


def _record(line: Line) -> dict[str, Any]:
    return {
        **asdict(line.choice), "score": line.score, "margins": dict(line.margins), **line.outcome.record(),
        "budget_left": line.left, "standing": line.standing, "tried_on": line.tried_on,
    }  # fmt: skip


def advice(
    case: str,
    network: Sealed,
    explored: Explored,
    wanted: Goals,
    stand_ins: Sequence[StandIn],
    fixed: Mapping[str, Any],
    ledger: Ledger | None = None,
    *,
    same_as: SameAs | None = None,
) -> Advice:
    """Judge what was tried, by goals and budget."""
    lines, weights = list[Line](), [one.weight for one in stand_ins]
    stands = standings(explored.rows, wanted, weights)
    for choice in ranked(explored.rows, wanted, weights):
        rows = explored.rows[choice]
        found = outcome(rows)
        left = _left(network, choice, fixed, ledger, same_as)
        reached = margins(wanted, found)
        lines.append(Line(choice, found, score(wanted, found), reached, left, stands[choice], len(by_stand_in(rows))))
    affordable = [line for line in lines if (line.left is None or line.left >= 0) and line.outcome.known]
    best = _best(_comparable(affordable))
    command = "" if best is None else _command(case, best, fixed)
    return Advice(
        wanted, tuple(lines), best, _reason(wanted, best, affordable, lines), command,
        tuple(one.words for one in stand_ins), explored.seconds, explored.settled,
    )  # fmt: skip


def _comparable(lines: Sequence[Line]) -> Sequence[Line]:
    """Those that were tried on as many stand-ins as `COMPARED` others, and more than once if any was: a lucky draw
    decides nothing, and neither does being the first in a table that was begun."""
    often = sorted((line.tried_on for line in lines), reverse=True)[:COMPARED]
    alike = [line for line in lines if line.tried_on >= min(often, default=0)]
    return [line for line in alike if line.outcome.trials > 1] or alike


def _best(lines: Sequence[Line]) -> Line | None:
    """The best standing; among those that are nearly as good, the one that spends least."""
    if not lines:
        return None
    enough = CLOSE * lines[0].standing
    alike = [line for line in lines if line.standing >= enough]
    return min(alike, key=lambda one: (one.choice.epsilon, -one.standing))


def _left(
    network: Sealed, choice: Choice, fixed: Mapping[str, Any], ledger: Ledger | None, same_as: SameAs | None
) -> float | None:
    """What would be left of the budget; `None` for a mechanism whose loss only the secret tells."""
    if not WORDS[choice.mechanism].loss_is_public:
        return None
    try:
        return preview(network, choice.plan(fixed), ledger, same_as=same_as).after.left
    except GridVeilError:
        return None


def _command(case: str, best: Line, fixed: Mapping[str, Any]) -> str:
    return shlex.join(["gridveil", "release", case, *best.choice.options(fixed), "--out", "DIR"])


def _unseen(wanted: Goals, best: Line) -> list[str]:
    """Goals of which no trial has a figure, as those of who guesses on very large networks."""
    asked = [name for name, value in wanted.by_name().items() if value is not None]
    return [SAYS[name] for name in asked if name not in best.margins]


def _reason(wanted: Goals, best: Line | None, affordable: Sequence[Line], lines: Sequence[Line]) -> str:
    """In a sentence."""
    if best is None:
        if lines and not affordable:
            return "no setting that was tried is left in the budget, or none could be repaired"
        return "nothing was tried in the time that there was; give more --minutes"
    weakest = min(best.margins, key=lambda name: best.margins[name])
    others = sum(line.score >= 1 for line in affordable)
    unseen = _unseen(wanted, best)
    out = len(lines) - len(affordable)
    others_out = f" ({out} beyond the budget, or never repaired)" if out else ""
    but = f"; {' and '.join(unseen)} could not be measured on the stand-in" if unseen else ""
    if best.tried_on > 1:
        but += f"; over {best.tried_on} stand-ins it reaches {best.standing:.0%} of the best margin of each (mean)"
    if best.score >= 1:
        return (
            f"it meets every goal{' that was measured' if unseen else ''} with a factor of {best.score:.2g} to spare, "
            f"{SAYS[weakest]} being what it has least of; {others} of {len(lines)} settings tried meet "
            f"all{others_out}{but}"
        )
    missed = [SAYS[name] for name, value in best.margins.items() if value < 1]
    return (
        f"no setting that was tried meets every goal; this one comes nearest, and misses {' and '.join(missed)} by a "
        f"factor of {1 / best.score:.2g}{but}"
    )
