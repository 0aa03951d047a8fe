"""What a reader holds of one release: the network, the solved state, what the manifest says of noise and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.check.leaks.coordinates import Seen, lines_of, seen
from gridveil.check.leaks.posterior import Noise
from gridveil.grid import LineKind, LineParameters, Network, OperatingPoint
from gridveil.publish.manifest import Manifest, protection_of
from gridveil.wall.facts import Fact, FactKind, Source
from gridveil.wall.protection import Group, Protection

UNKNOWN_SCALE = 0.1
"""Where nothing is told: the noise of the default α = 10 % with ε = 1. `ratings.likeliest_scale` knows better."""
EXACT = 1e-9
"""The log scale of what is released without noise."""
TWO_DIGITS = 0.02
"""The log scale of a ratio that is rounded to two digits."""
WIDEST = 3.0
"""No log scale is larger: beyond it a released value tells nothing anyway."""


@dataclass(frozen=True, eq=False)
class Reader:
    """One release as a reader has it. All of it is public.

    `scale` is the Laplace scale of the noise: of each log coordinate for `log`, of the conductance for the others.
    `cost` is the public dispatch cost of the original, `cost_spread` how far, relatively, the true one may lie from it.
    `state` is the solved state in the file. `None` stands for what a reader was not told. Of a joint release he knows
    what it protects, and the ε of its draw.
    """

    network: Network
    mechanism: str | None = None
    scale: float | None = None
    cost: float | None = None
    cost_spread: float | None = None
    state: OperatingPoint | None = None
    protection: Protection | None = None
    epsilon: float = 1.0

    @property
    def hides_lines(self) -> bool:
        """Are lines released with noise, as far as a reader knows?"""
        return self.protection is None or Group.LINES in self.protection


class LineNoise(NamedTuple):
    """The noise on every line's ln|z|, ln(x/r) and ln(bc/x), as far as a reader can tell."""

    size: Noise
    ratio: Noise
    charging: Noise


def reader_from_manifest(record: Manifest) -> dict[str, Any]:
    """Mechanism, noise scale and public cost, from a manifest, as arguments of `Reader`.

    A derived cost is left out: it says nothing that the released lines do not.
    """
    name, privacy = record.mechanism.name, record.privacy
    parts = 3.0 if name == "paper" else 1.0  # the paper splits its ε among three queries
    alpha, protection = privacy.alpha, protection_of(record)
    if protection is not None:  # lines that are not protected are released as they are
        alpha = protection.alpha.get(Group.LINES, EXACT)
    told: dict[str, Any] = {"mechanism": name, "scale": parts * alpha / privacy.parts.lines.epsilon}
    if protection is not None:
        told |= {"protection": protection, "epsilon": privacy.parts.lines.epsilon}
    cost = next(one for one in record.public_inputs if one.kind is FactKind.COST)
    if cost.source is not Source.DERIVED:
        told["cost"], told["cost_spread"] = cost.value, _spread(cost)
    return told


def _spread(cost: Fact) -> float:
    """The standard deviation of the true cost around a public one, relative to it."""
    if cost.source is Source.PRIVATE and cost.scale is not None:
        return float(np.sqrt(2.0) * cost.scale)
    return cost.slack / float(np.sqrt(3.0))


def line_noise(reader: Reader) -> LineNoise:
    """The noise of every line in log coordinates.

    Noise on a conductance is relative to the released one. Charging is then released as it is, so ln(bc/x) has the
    noise of x.
    """
    n, scale = reader.network.grid.n_line, UNKNOWN_SCALE if reader.scale is None else reader.scale
    if reader.mechanism not in ("additive", "paper"):
        return LineNoise(*(Noise(np.full(n, max(scale, EXACT))) for _ in range(3)))
    lines, kind = reader.network.lines, reader.network.grid.lines.kind
    secret = np.abs(np.where(kind == LineKind.LOSSLESS, lines.b, lines.g))
    size = np.clip(scale / np.maximum(secret, 1e-12), EXACT, WIDEST)
    size = np.where(kind == LineKind.NEGATIVE_RESISTANCE, EXACT, size)
    digits = np.full(n, EXACT if reader.mechanism == "paper" else TWO_DIGITS)
    return LineNoise(Noise(size, 1), Noise(digits), Noise(size, -1))


@dataclass(frozen=True, eq=False)
class View:
    """What one or several releases show of every line: a network, its coordinates, and the noise that is left on them.

    `charging_exact` says that charging is released as it is, so that bc itself has no noise.
    """

    network: Network
    seen: Seen
    noise: LineNoise
    charging_exact: bool


def view(reader: Reader) -> View:
    """What one release shows."""
    exact = reader.mechanism in ("additive", "paper")
    return View(reader.network, seen(reader.network), line_noise(reader), exact)


def lines_from(held: View, size: FloatArray, ratio: FloatArray, charging: FloatArray) -> LineParameters:
    """Lines from guessed coordinates; charging that was released as it is stays."""
    made = lines_of(held.network, size, np.where(held.seen.has_ratio, ratio, 0.0), charging)
    return LineParameters(made.g, made.b, held.network.lines.bc) if held.charging_exact else made
