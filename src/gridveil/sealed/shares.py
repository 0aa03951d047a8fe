"""`on_public_shares`: the sealed network as a plan asks it, so that what it answers is of the curves that it draws."""

from __future__ import annotations

from gridveil.sealed.split import Sealed
from gridveil.wall.protection import Protection
from gridveil.wall.shares import on_shares


def on_public_shares(network: Sealed, protection: Protection) -> Sealed:
    """The same network, in which piecewise costs bend at their public shares of pmax if a plan takes them so."""
    truth = network._open()
    taken = on_shares(truth, protection)
    return network if taken is truth else Sealed(taken, network.labels, network.name)
