"""The numbers that the paper prints: its Tables II and III, so that ours can stand beside them.

Source: Fioretto, Mak, Van Hentenryck, "Differential Privacy for Power Grid Obfuscation" (tables "Laplace mechanism
feasibility (%)" and "PLO Computational Runtime"). They are of the NESTA networks; the cases of this project have the
names without `nesta_`, and where their numbers are PGLib's they are not the same networks.
"""

from __future__ import annotations

NETWORKS = "The paper's numbers are of the NESTA network of that name, on the authors' machine."

_FEASIBLE = {
    "case30_ieee": (100, 80, 0),
    "case39_epri": (100, 0, 0),
    "case57_ieee": (100, 61, 0),
    "case118_ieee": (100, 47, 0),
}
_SECONDS = {
    "case3_lmbd": (0.04, 0.05, 0.07),
    "case4_gs": (0.09, 0.14, 0.16),
    "case5_pjm": (0.10, 0.09, 0.15),
    "case6_c": (0.05, 0.12, 0.19),
    "case6_ww": (0.05, 0.26, 0.39),
    "case9_wscc": (0.08, 0.21, 0.29),
    "case14_ieee": (0.10, 0.44, 0.74),
    "case24_ieee_rts": (0.63, 1.04, 1.88),
    "case29_edin": (4.23, 3.26, 4.59),
    "case30_as": (0.38, 1.31, 1.77),
    "case30_fsr": (0.39, 1.43, 1.70),
    "case30_ieee": (0.43, 1.41, 1.63),
    "case39_epri": (1.67, 2.00, 2.25),
    "case57_ieee": (1.11, 3.43, 4.81),
    "case73_ieee_rts": (2.86, 8.03, 13.90),
    "case89_pegase": (33.67, 44.96, 48.12),
    "case118_ieee": (8.79, 8.64, 17.73),
    "case162_ieee_dtc": (17.48, 38.83, 50.43),
}
_STEMS = {name.split("_")[0]: name for name in _SECONDS if name not in ("case6_c", "case6_ww")} | {
    "case30": "case30_ieee"
}


def nesta_name(case: str) -> str | None:
    """The paper's network that a case corresponds to: by its name, its NESTA or PGLib file name, or its short one."""
    for prefix in ("nesta_", "pglib_opf_"):
        case = case.removeprefix(prefix)
    case = _STEMS.get(case, case)
    return case if case in _SECONDS else None


def laplace_feasible(case: str, alpha: float) -> float | None:
    """Table II: per cent of AC-feasible networks after bare Laplace noise; the last column is α ≥ 0.1."""
    name = nesta_name(case)
    if name not in _FEASIBLE:
        return None
    row = _FEASIBLE[name]
    exact = {0.001: row[0], 0.01: row[1]}
    return float(row[2]) if alpha >= 0.1 else exact.get(alpha)


def release_seconds(case: str, alpha: float) -> float | None:
    """Table III: mean seconds of the paper's mechanism."""
    name = nesta_name(case)
    if name is None or alpha not in (0.01, 0.1, 1.0):
        return None
    return _SECONDS[name][(0.01, 0.1, 1.0).index(alpha)]
