"""Large networks drawn by forces, the coarse picture first: lines pull, every bus pushes every other away.

Buses are joined in pairs, pairs in pairs, until a few dozen are left (as Walshaw, 2003, and Hu, 2005, do); these find
their places, and each level starts where the coarser one ended. The push falls with the square of the distance, so that
far parts do not squeeze one another. It is a convolution: on a grid of cells the fast Fourier transform adds the pushes
of all buses in milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import fftfreq, irfft2, rfft2

from gridveil.arrays import FloatArray, IntArray

COARSE = 40
"""Buses of the coarsest level at most, if the network can be joined so far."""
PUSH = 0.6
_STEPS, _LAST = 60, 100


class _Level(NamedTuple):
    mass: FloatArray
    ends: IntArray
    pull: FloatArray
    into: IntArray
    """The bus of the next coarser level that each belongs to."""


def pulled_apart(n: int, ends: IntArray, pull: FloatArray) -> FloatArray:
    """Coordinates (n, 2); `ends` are pairs of buses that are joined, `pull` how hard."""
    levels: list[_Level] = []
    mass: FloatArray = np.ones(n)
    while True:
        into = _paired(len(mass), ends, pull, mass) if len(mass) > COARSE else np.arange(len(mass))
        levels.append(_Level(mass, ends, pull, into))
        many = int(into.max()) + 1
        if many > 0.95 * len(mass):
            break
        mass = np.asarray(np.bincount(into, mass), np.float64)
        ends, pull = _merged(into[ends], pull, many)
    k = np.arange(len(levels[-1].mass))
    turn = 2.399963 * k  # a sunflower: no two start on one spot, nothing is random
    place = np.stack([np.cos(turn), np.sin(turn)], axis=1) * np.sqrt((k + 1) * n / len(k))[:, None]
    for level in reversed(levels):
        size = np.sqrt(n / len(level.mass))
        if level is not levels[-1]:
            i = np.arange(len(level.mass))
            apart = np.stack([i * 37 % 101 / 101 - 0.5, i * 59 % 103 / 103 - 0.5], axis=1)
            place = place[level.into] + 0.3 * size * apart
        first = 3.0 * size if level is levels[-1] else size
        place = _relaxed(place, level, size, first, _LAST if level is levels[0] else _STEPS)
    return place


def _paired(n: int, ends: IntArray, pull: FloatArray, mass: FloatArray) -> IntArray:
    """For each bus the one it becomes: those with few neighbours choose first, a light one; left over leaves follow."""
    near: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (one, other), many in zip(ends.tolist(), pull.tolist(), strict=True):
        near[one].append((other, many))
        near[other].append((one, many))
    weight, into, count = mass.tolist(), [-1] * n, 0
    for bus in sorted(range(n), key=lambda one: len(near[one])):
        if into[bus] >= 0:
            continue
        free = [(many / weight[other], -other) for other, many in near[bus] if into[other] < 0]
        if not free and len(near[bus]) == 1:
            into[bus] = into[near[bus][0][0]]
            continue
        into[bus] = count
        if free:
            into[-max(free)[1]] = count
        count += 1
    return np.array(into, dtype=np.int64)


def _merged(ends: IntArray, pull: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    kept = ends[:, 0] != ends[:, 1]
    low, high = ends[kept].min(axis=1), ends[kept].max(axis=1)
    key, which = np.unique(low * n + high, return_inverse=True)
    return np.stack([key // n, key % n], axis=1), np.asarray(
        np.bincount(which.reshape(-1), pull[kept], len(key)), np.float64
    )


def _relaxed(place: FloatArray, level: _Level, size: float, step: float, steps: int) -> FloatArray:
    """Every bus moves along its force, by steps that shrink to a tenth of a line."""
    mass, (one, other), pull = level.mass, level.ends.T, level.pull / size
    push, n, shrink = _Pushes(len(mass)), len(mass), 0.086 ** (1.0 / steps)
    for _ in range(steps):
        force = PUSH * mass[:, None] * push(place, mass)
        along = place[one] - place[other]
        spring = (pull * np.sqrt((along * along).sum(axis=1)))[:, None] * along
        for k in (0, 1):
            force[:, k] += np.bincount(other, spring[:, k], n) - np.bincount(one, spring[:, k], n)
        strength = np.sqrt((force * force).sum(axis=1))
        place = place + (step * np.minimum(1.0, 2.0 * strength / mass) / np.maximum(strength, 1e-12))[:, None] * force
        step *= shrink
    return place


class _Pushes:
    """Σ mass·(x − x_j)/|x − x_j|³ at every bus, buses spread over the four corners of their cells."""

    def __init__(self, n: int) -> None:
        cells = 64
        while cells < min(2.2 * np.sqrt(n), 256):
            cells *= 2
        self.cells = cells
        away = fftfreq(2 * cells, 1 / (2 * cells))
        across, along = np.meshgrid(away, away, indexing="ij")
        cube = (across * across + along * along + 0.5) ** 1.5
        self.laws = [rfft2((one / cube).astype(np.float32)) for one in (across, along)]

    def __call__(self, place: FloatArray, mass: FloatArray) -> FloatArray:
        wide, low = 2 * self.cells, place.min(axis=0)
        cell = max(float((place.max(axis=0) - low).max()) / (self.cells - 1.001), 1e-9)
        inside = (place - low) / cell
        corner = np.minimum(inside.astype(np.int64), self.cells - 2)
        share = inside - corner
        corners = [
            ((corner[:, 0] + i) * wide + corner[:, 1] + j, np.abs(1 - i - share[:, 0]) * np.abs(1 - j - share[:, 1]))
            for i in (0, 1)
            for j in (0, 1)
        ]
        density = np.zeros(wide * wide)
        for at, part in corners:
            density += np.bincount(at, part * mass, wide * wide)
        seen = rfft2(density.reshape(wide, wide).astype(np.float32))
        fields = [irfft2(seen * law, s=(wide, wide)).reshape(-1) for law in self.laws]
        felt = [sum(field[at] * part for at, part in corners) for field in fields]
        return np.asarray(np.stack(felt, axis=1) / cell**2, np.float64)
