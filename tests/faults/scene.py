"""What a trial releases, and what is there before it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gridveil as gv
from gridveil.arrays import FloatArray
from gridveil.nlp.power_flow import Demand
from gridveil.publish.pipeline import release
from gridveil.repair.child import ChildWorkshop
from gridveil.repair.workshop import Workshop
from gridveil.wall.codec import pack
from gridveil.wall.draw import Estimate, Repair, Snapshot
from tests.conftest import PretendExact

LEDGER, BUNDLE = "ledger.db", "out"
LIMIT = 10.0
_remembered: dict[bytes, Any] = {}
"""Answers of the workshop, by what was asked: the same draw has the same repair in every trial."""


@dataclass(frozen=True)
class Scene:
    """A case and where its cost comes from (`private` draws and charges twice with these seeds), by command line.

    `force` has an old bundle in place, `fresh` has no ledger yet. `solving` has every trial repair anew.
    """

    cost: str = "derived"
    force: bool = False
    fresh: bool = False
    case: str = "case3_lmbd"
    seed: int = 0
    solving: bool = False
    child: bool = False

    @property
    def name(self) -> str:
        words = [self.cost, "force" if self.force else "", "fresh" if self.fresh else ""]
        return "-".join(word for word in words if word)

    def arguments(self, folder: Path, out: str = BUNDLE) -> list[str]:
        where = ["--ledger", str(folder / LEDGER), "--out", str(folder / out)]
        return ["release", self.case, "--cost", self.cost, *where, *(["--force"] if self.force else [])]

    def shop(self) -> Any:
        """The workshop of a trial."""
        if self.child:
            return ChildWorkshop
        return Workshop if self.solving else Remembering

    def prepare(self, folder: Path) -> Path:
        """A directory to begin trials from."""
        place = folder / f"template-{self.name}"
        place.mkdir(parents=True)
        if not self.fresh:
            gv.Ledger.init(place / LEDGER, LIMIT)
        if self.force:
            self.release(place)
        return place

    def release(self, folder: Path, noise: PretendExact | None = None) -> None:
        """A release in this process, to which nothing happens."""
        made = release(
            gv.seal(self.case),
            gv.Plan(1.0, 0.1, 0.01, cost=self.cost),
            gv.Ledger.open(folder / LEDGER),
            noise or PretendExact(self.seed),
            Remembering,
            confirmed=True,
        )
        made.write(folder / BUNDLE, force=True)


def begin(template: Path, folder: Path) -> None:
    """A trial's own directory."""
    shutil.copytree(template, folder)


class Remembering(Workshop):
    """Solves what it has not solved before; what was solved before a fork is known after it."""

    def estimate(self, demands: Sequence[Demand], **how: Any) -> Estimate:
        key = pack((self.noisy, tuple(demands), tuple(sorted(how.items()))))
        if key not in _remembered:
            _remembered[key] = super().estimate(demands, **how)
        found: Estimate = _remembered[key]
        return found

    def repair(self, snapshots: Sequence[Snapshot], *, patient: bool = True) -> Repair:
        key = pack((self.noisy, tuple(snapshots)))
        if key not in _remembered:
            _remembered[key] = super().repair(snapshots, patient=patient)
        found: Repair = _remembered[key]
        return found


class MarkedNoise(PretendExact):
    """Says that it draws before it draws."""

    def __init__(self, seed: int, report: int) -> None:
        super().__init__(seed)
        self._report = report

    def laplace(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        os.write(self._report, b"draw\n")
        return super().laplace(values, sensitivity, epsilon)
