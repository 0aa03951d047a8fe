"""What a sealed network says of itself is public."""

from __future__ import annotations

import gridveil as gv
from gridveil.sealed.split import split


def test_a_sealed_network_counts_what_is_public_of_it() -> None:
    assert repr(split(gv.load("case118"))) == "SecretNetwork(118 buses, 186 lines, 9 of them lossless)"
