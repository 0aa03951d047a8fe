"""Optimality gaps: how far below the AC cost a relaxation stays, the paper's measure of an instance's character."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.conic.relaxation import Relaxation
from gridveil.shown import as_card
from gridveil.status import Status


def gap_pct(ac_cost: float, bound: float) -> float | None:
    """100·|O − Ô|/O, the paper's formula; none where the cost is zero."""
    return 100.0 * abs(ac_cost - bound) / abs(ac_cost) if ac_cost else None


@dataclass(frozen=True)
class Gap:
    """AC cost, bounds and gaps of one network; a gap is None unless both of its solves are optimal.

    Attributes:
        ac_status: How the AC-OPF ended.
        ac_cost: Its cost.
        soc: The SOC relaxation.
        qc: The QC relaxation.

    Examples:
        >>> print(f"{gv.gap('case14_ieee').soc_pct:.2f} %")
        0.11 %
    """

    ac_status: Status
    ac_cost: float
    soc: Relaxation
    qc: Relaxation

    _repr_html_ = as_card

    def __repr__(self) -> str:
        if self.status is not Status.OPTIMAL:
            return f"Gap({self.status}: AC {self.ac_status}, SOC {self.soc.status}, QC {self.qc.status})"
        return f"Gap(AC cost {self.ac_cost:,.2f}, SOC {_shown(self.soc_pct, ' %')}, QC {_shown(self.qc_pct, ' %')})"

    @property
    def soc_pct(self) -> float | None:
        return self._pct(self.soc)

    @property
    def qc_pct(self) -> float | None:
        return self._pct(self.qc)

    @property
    def status(self) -> Status:
        """Infeasible if a relaxation proves it; else the first status that is not optimal, AC first."""
        every = (self.ac_status, self.soc.status, self.qc.status)
        if Status.INFEASIBLE in every[1:]:
            return Status.INFEASIBLE
        return next((status for status in every if status is not Status.OPTIMAL), Status.OPTIMAL)

    def _pct(self, relaxation: Relaxation) -> float | None:
        if self.ac_status is not Status.OPTIMAL or relaxation.status is not Status.OPTIMAL:
            return None
        return gap_pct(self.ac_cost, relaxation.bound)


@dataclass(frozen=True)
class GapChange:
    """Gaps of a released network less those of the original, in percentage points; None where one is missing.

    Attributes:
        original: Gaps of the original.
        released: Gaps of the released network.

    Examples:
        >>> gv.gap_change("case14_ieee", "case14_ieee").soc_points
        0.0
    """

    original: Gap
    released: Gap

    _repr_html_ = as_card

    def __repr__(self) -> str:
        return f"GapChange(SOC {_shown(self.soc_points, ' points')}, QC {_shown(self.qc_points, ' points')})"

    @property
    def soc_points(self) -> float | None:
        return _less(self.released.soc_pct, self.original.soc_pct)

    @property
    def qc_points(self) -> float | None:
        return _less(self.released.qc_pct, self.original.qc_pct)


def _shown(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:.2f}{unit}"


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
