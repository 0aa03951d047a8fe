"""The line's flows against complex arithmetic; their derivatives against complex steps, exact to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.nlp import line_flow

NUMBER = st.floats(-3, 3, allow_nan=False)
LINE = st.fixed_dictionaries(
    {
        "local": st.tuples(
            st.floats(0.0, 1.5), st.floats(0.0, 1.5), st.floats(-3.2, 3.2),
            st.floats(-50, 50), st.floats(-200, 200), st.floats(-2, 20),
        ),
        "tap": st.floats(0.5, 1.5),
        "weight": st.tuples(NUMBER, NUMBER, NUMBER, NUMBER),
    }
)  # fmt: skip
STEP = 1e-30


def state(local: Any, tap: float) -> line_flow.LineTerms:
    vf, vt, delta, g, b, bc = (np.atleast_1d(value) for value in local)
    return line_flow.terms(vf, vt, delta, g, b, b + 0.5 * bc, np.array([1.0 / tap]))


def flows(local: Any, tap: float) -> np.ndarray:
    out = np.empty((4, 1), dtype=np.asarray(local).dtype)
    line_flow.flows(state(local, tap), out)
    return out[:, 0]


def gradients(local: Any, tap: float, size: int = 6) -> np.ndarray:
    out = np.empty((4, size, 1), dtype=np.asarray(local).dtype)
    line_flow.gradients(state(local, tap), out)
    return out[:, :, 0]


def steps(local: tuple[float, ...]) -> list[np.ndarray]:
    return [np.array(local) + 1j * STEP * (np.arange(6) == i) for i in range(6)]


@given(LINE, st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_real_flows_are_the_complex_ones(line: Any, va_from: float, va_to: float, shift: float) -> None:
    vf, vt, _, g, b, bc = line["local"]
    ours = flows((vf, vt, va_from - va_to - shift, g, b, bc), line["tap"])
    tap = line["tap"] * np.exp(1j * shift)
    v_from, v_to, y = vf * np.exp(1j * va_from), vt * np.exp(1j * va_to), g + 1j * b
    s_from = v_from * np.conj((y + 0.5j * bc) / abs(tap) ** 2 * v_from - y / np.conj(tap) * v_to)
    s_to = v_to * np.conj((y + 0.5j * bc) * v_to - y / tap * v_from)
    assert ours == pytest.approx([s_from.real, s_from.imag, s_to.real, s_to.imag], rel=1e-9, abs=1e-9)


@given(LINE)
def test_gradients(line: Any) -> None:
    exact = np.stack([flows(point, line["tap"]).imag / STEP for point in steps(line["local"])], axis=1)
    assert gradients(line["local"], line["tap"]) == pytest.approx(exact, rel=1e-12, abs=1e-10)
    assert gradients(line["local"], line["tap"], 3) == pytest.approx(exact[:, :3], rel=1e-12, abs=1e-10)


@given(LINE)
def test_hessians(line: Any) -> None:
    weight = np.array(line["weight"])
    exact = np.stack([weight @ gradients(point, line["tap"]).imag / STEP for point in steps(line["local"])])
    for size in (3, 6):
        pairs = line_flow.upper_triangle(size)
        out = np.full((len(pairs), 1), np.nan)
        line_flow.hessian(state(line["local"], line["tap"]), weight[:, None], out)
        assert out[:, 0] == pytest.approx([exact[i, j] for i, j in pairs], rel=1e-12, abs=1e-9)
