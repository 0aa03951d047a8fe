"""The long audit (`make sweep`): the loss of whole releases, black box, with bounds that bind."""

from __future__ import annotations

import numpy as np
import pytest

import gridveil as gv
from gridveil.errors import ReleaseError
from gridveil.grid import LineParameters, Network
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

from .audit import epsilon_lower_bound

pytestmark = pytest.mark.sweep

ALPHA = 0.2


def neighbours() -> tuple[Network, Network]:
    """case3 and the same with one line's impedance larger by α in ln|z|, its charging per reactance kept."""
    network = gv.load("case3")
    scale = np.exp(ALPHA * (np.arange(network.grid.n_line) == 0))
    lines = network.lines
    return network, Network(network.grid, LineParameters(lines.g / scale, lines.b / scale, lines.bc * scale))


@pytest.mark.parametrize("leak", [False, True])
def test_released_values_keep_the_claim(leak: bool) -> None:
    """ε = 1, bounds at a factor of 1.01 around the noisy value; the planted bug mixes the truth into the release."""
    one, other = neighbours()
    cost = gv.solve_opf(one).cost
    plan = gv.Plan(1.0, ALPHA, 0.05, bound_factor=1.01, published_cost=cost)
    noise = SeededNoise(17)

    def draw(network: Network) -> float:
        try:
            made = release(split(network), plan, noise=noise, workshop=Workshop)
        except ReleaseError:
            return -1.0
        x = float(made.lines.impedance()[1][0])
        return 0.5 * (x + float(network.lines.impedance()[1][0])) if leak else x

    found = epsilon_lower_bound(lambda: draw(one), lambda: draw(other), 700)
    assert (found > 1.0) if leak else (0.2 < found <= 1.0)
