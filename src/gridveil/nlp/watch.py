"""What is watched while a solver works: the caller's progress, its patience, and what was raised meanwhile."""

from __future__ import annotations

import numpy as np

from gridveil.nlp.solver import Patience, Progress

_DESCENT, _HIGHEST = 0.03, 1e300
"""Of the objective's size: what counts as progress; and more than any objective."""


class Watch:
    """Called once per iteration with its mode (0: ordinary, else a restoration), number, objective and infeasibility;
    answers whether to stop. An exception is kept for the caller, since it cannot pass through compiled code."""

    def __init__(self, progress: Progress | None, patience: Patience | None, *, restoring: bool) -> None:
        self.progress, self.patience, self.restoring = progress, patience, restoring
        self.least: dict[int, float] = {}  # by mode: a restoration measures infeasibility in units of its own
        self.lowest, self.since, self.iterations = _HIGHEST, 0, 0
        self.halted = False
        self.error: BaseException | None = None

    def __call__(self, mode: int, iteration: int, objective: float, infeasibility: float) -> bool:
        self.iterations = iteration
        try:
            self._judge(mode, iteration, objective, infeasibility)
            if self.progress is not None:
                self.progress(iteration, infeasibility)
        except BaseException as error:  # noqa: BLE001 - raised again after the solve, KeyboardInterrupt too
            self.error = self.error or error
        return self.halted or self.error is not None

    def _judge(self, mode: int, iteration: int, objective: float, infeasibility: float) -> None:
        if self.patience is None:
            return
        above, most, better, near = self.patience
        least = self.least.get(mode, np.inf)
        if infeasibility < better * least:
            self.least[mode], self.since = infeasibility, iteration
        if mode == 0 and infeasibility < near and objective < self.lowest - _DESCENT * abs(self.lowest):
            self.lowest, self.since = objective, iteration
        if self.restoring:
            self.restoring, self.since = iteration == 0 or mode != 0, iteration
        self.halted |= least > above and iteration - self.since >= most

    def check(self) -> None:
        """Raise what was raised meanwhile."""
        if self.error is not None:
            raise self.error
