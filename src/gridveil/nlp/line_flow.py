"""The flows of a line and their first and second derivatives, written once for every problem of this package.

A line has seven local variables: vm_f, vm_t, va_f, va_t, g, b, bc. The angles enter only through their difference, so
the functions below work in six, LOCALS = (vm_f, vm_t, δ, g, b, bc) with δ = va_f − va_t − shift; whoever scatters the
derivatives into a problem applies ∂δ/∂va_f = 1 and ∂δ/∂va_t = −1. With u = vm_f/tap and four terms

    A = u²      B = vm_t²      C = u·vm_t·cos δ      S = u·vm_t·sin δ      h = b + bc/2

the flows are linear in the terms, and linear in (g, b, bc):

    pf = g·(A − C) − b·S            pt = g·(B − C) + b·S
    qf = b·C − h·A − g·S            qt = b·C − h·B + g·S

That makes the second derivatives short: weighting the flows by w turns Σ w·flow into μ_A·A + μ_B·B + μ_C·C + μ_S·S.
Every array has one entry per line in its last axis; FLOWS = (pf, qf, pt, qt) and LOCALS order the axes before it.
No division by a voltage occurs, so vm = 0 is as good a point as any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray

VOLTAGE_LOCALS = 3
ALL_LOCALS = 6


class LineTerms(NamedTuple):
    """What flows, gradients and Hessians share at one point. `parameters` is (g, b, h), stacked."""

    vm_from: FloatArray
    vm_to: FloatArray
    inverse_tap: FloatArray
    cosine: FloatArray
    sine: FloatArray
    scaled_from: FloatArray
    A: FloatArray
    B: FloatArray
    C: FloatArray
    S: FloatArray
    g: FloatArray
    b: FloatArray
    h: FloatArray


def terms(
    vm_from: FloatArray,
    vm_to: FloatArray,
    delta: FloatArray,
    g: FloatArray,
    b: FloatArray,
    h: FloatArray,
    inverse_tap: FloatArray,
) -> LineTerms:
    """The terms at a point; h = b + bc/2 is passed in, because it is a constant where the parameters are numbers."""
    u = vm_from * inverse_tap
    cosine, sine = np.cos(delta), np.sin(delta)
    product = u * vm_to
    return LineTerms(
        vm_from, vm_to, inverse_tap, cosine, sine, u,
        u * u, vm_to * vm_to, product * cosine, product * sine, g, b, h,
    )  # fmt: skip


def flows(t: LineTerms, out: FloatArray) -> None:
    """Write (pf, qf, pt, qt) into `out`, shape (4, n)."""
    gC, bC, gS, bS = t.g * t.C, t.b * t.C, t.g * t.S, t.b * t.S
    pf, qf, pt, qt = out
    np.subtract(t.g * t.A - gC, bS, out=pf)
    np.subtract(bC - t.h * t.A, gS, out=qf)
    np.add(t.g * t.B - gC, bS, out=pt)
    np.add(bC - t.h * t.B, gS, out=qt)


def gradients(t: LineTerms, out: FloatArray) -> None:
    """Write ∂flow/∂local into `out`, shape (4, 3, n) for the voltages alone or (4, 6, n) with g, b, bc too."""
    C_S = _term_gradients(t)
    (gC, gS), (bC, bS) = t.g * C_S, t.b * C_S
    voltage = out[:, :VOLTAGE_LOCALS]
    np.negative(gC + bS, out=voltage[0])
    np.subtract(bC, gS, out=voltage[1])
    np.subtract(bS, gC, out=voltage[2])
    np.add(bC, gS, out=voltage[3])
    A_f, B_t = 2.0 * t.scaled_from * t.inverse_tap, 2.0 * t.vm_to
    out[0, 0] += t.g * A_f
    out[1, 0] -= t.h * A_f
    out[2, 1] += t.g * B_t
    out[3, 1] -= t.h * B_t
    if out.shape[1] == ALL_LOCALS:
        _parameter_gradients(t, out[:, VOLTAGE_LOCALS:])


def _term_gradients(t: LineTerms) -> FloatArray:
    """∂(C, S)/∂(vm_f, vm_t, δ), shape (2, 3, n)."""
    result = np.empty((2, 3, t.A.size), dtype=t.C.dtype)
    scaled_to = t.vm_to * t.inverse_tap
    np.multiply(scaled_to, t.cosine, out=result[0, 0])
    np.multiply(t.scaled_from, t.cosine, out=result[0, 1])
    np.negative(t.S, out=result[0, 2])
    np.multiply(scaled_to, t.sine, out=result[1, 0])
    np.multiply(t.scaled_from, t.sine, out=result[1, 1])
    result[1, 2] = t.C
    return result


def _parameter_gradients(t: LineTerms, out: FloatArray) -> None:
    """∂flow/∂(g, b, bc), shape (4, 3, n); h = b + bc/2 is differentiated here."""
    pf, qf, pt, qt = out
    pf[0], pf[1], pf[2] = t.A - t.C, -t.S, 0.0
    qf[0], qf[1], qf[2] = -t.S, t.C - t.A, -0.5 * t.A
    pt[0], pt[1], pt[2] = t.B - t.C, t.S, 0.0
    qt[0], qt[1], qt[2] = t.S, t.C - t.B, -0.5 * t.B


def hessian(t: LineTerms, weight: FloatArray, out: FloatArray) -> None:
    """Write Σ_k weight[k]·∇²flow[k] into `out`: the upper triangle over 3 or 6 locals, row by row, shape (6 or 21, n).

    Within g, b, bc it is zero: the flows are linear in them.
    """
    w_pf, w_qf, w_pt, w_qt = weight
    a = t.g * w_pf - t.h * w_qf
    b = t.g * w_pt - t.h * w_qt
    c = t.b * (w_qf + w_qt) - t.g * (w_pf + w_pt)
    s = t.b * (w_pt - w_pf) + t.g * (w_qt - w_qf)
    even = (c * t.cosine + s * t.sine) * t.inverse_tap
    odd = (s * t.cosine - c * t.sine) * t.inverse_tap
    at = _UPPER[len(out)]
    np.multiply(2.0 * a, t.inverse_tap * t.inverse_tap, out=out[at[0, 0]])
    out[at[0, 1]] = even
    np.multiply(odd, t.vm_to, out=out[at[0, 2]])
    np.multiply(2.0, b, out=out[at[1, 1]])
    np.multiply(odd, t.vm_from, out=out[at[1, 2]])
    np.multiply(-even * t.vm_from, t.vm_to, out=out[at[2, 2]])
    if len(out) == len(_UPPER[21]):
        _mixed_hessian(t, weight, out)


def _mixed_hessian(t: LineTerms, weight: FloatArray, out: FloatArray) -> None:
    """Voltage against parameter: the gradient of Σ w·∂flow/∂(g, b, bc), which is again a sum of terms."""
    w_pf, w_qf, w_pt, w_qt = weight
    C_, S_ = _term_gradients(t)
    A_f, B_t = 2.0 * t.scaled_from * t.inverse_tap, 2.0 * t.vm_to
    at = _UPPER[21]
    by_g = (w_qt - w_qf) * S_ - (w_pf + w_pt) * C_
    by_b = (w_pt - w_pf) * S_ + (w_qf + w_qt) * C_
    by_g[0] += w_pf * A_f
    by_g[1] += w_pt * B_t
    by_b[0] -= w_qf * A_f
    by_b[1] -= w_qt * B_t
    for local in range(VOLTAGE_LOCALS):
        out[at[local, 3]] = by_g[local]
        out[at[local, 4]] = by_b[local]
    out[at[0, 5]] = -0.5 * w_qf * A_f
    out[at[1, 5]] = -0.5 * w_qt * B_t
    out[at[2, 5]] = 0.0
    for first in range(3, 6):
        for second in range(first, 6):
            out[at[first, second]] = 0.0


def upper_triangle(size: int) -> tuple[tuple[int, int], ...]:
    """Index pairs of an upper triangle, row by row: the order of every packed Hessian here."""
    return tuple((i, j) for i in range(size) for j in range(i, size))


_UPPER = {
    len(upper_triangle(size)): {pair: k for k, pair in enumerate(upper_triangle(size))}
    for size in (VOLTAGE_LOCALS, ALL_LOCALS)
}
