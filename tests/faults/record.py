"""What a campaign found: how many trials, how many failures, and what they let one say of the next trial."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scipy.stats import beta


@dataclass
class Record:
    """Trials of one injector. `kinds` counts what was done, `examples` has the first failures in words."""

    injector: str
    n: int = 0
    failures: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, kind: str, faults: list[str]) -> None:
        """Count a trial, with what was wrong after it."""
        self.n += 1
        self.kinds[kind] += 1
        if faults:
            self.failures += 1
            self.examples = [*self.examples, f"{kind}: {'; '.join(faults)}"][:12]

    @property
    def bound(self) -> float:
        """With 95 % confidence a trial fails no more often than this (Clopper and Pearson, one-sided)."""
        if self.n == self.failures:
            return 1.0
        return float(beta.ppf(0.95, self.failures + 1, self.n - self.failures))

    def plain(self) -> dict[str, object]:
        """As an object for JSON."""
        return {
            "injector": self.injector, "n": self.n, "failures": self.failures, "bound": self.bound,
            "seconds": round(self.seconds, 1), "kinds": dict(self.kinds), "examples": self.examples,
        }  # fmt: skip
