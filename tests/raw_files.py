"""Small RAW files made by rule: two voltage levels, transformers of two and of three windings in every code."""

from __future__ import annotations

BUSES = """1,'ONE         ', 132.0,3,1,1,1,1.02,0.0,1.1,0.9,1.1,0.9
2,'TWO, A/B    ', 33.0,1,1,1,1,1.0,0.0,1.1,0.9,1.1,0.9
3,'THREE       ', 11.0,1,1,1,1,1.0,0.0,1.1,0.9,1.1,0.9
4,'FOUR        ', 132.0,2,1,1,1,1.0,0.0,1.1,0.9,1.1,0.9
"""
ENDING = """0 / END OF TRANSFORMER DATA, BEGIN AREA DATA
0 / END OF AREA DATA, BEGIN TWO-TERMINAL DC DATA
0 / END OF TWO-TERMINAL DC DATA, BEGIN VSC DC LINE DATA
0 / END OF VSC DC LINE DATA, BEGIN IMPEDANCE CORRECTION DATA
0 / END OF IMPEDANCE CORRECTION DATA, BEGIN MULTI-TERMINAL DC DATA
0 / END OF MULTI-TERMINAL DC DATA, BEGIN MULTI-SECTION LINE DATA
0 / END OF MULTI-SECTION LINE DATA, BEGIN ZONE DATA
0 / END OF ZONE DATA, BEGIN INTER-AREA TRANSFER DATA
0 / END OF INTER-AREA TRANSFER DATA, BEGIN OWNER DATA
0 / END OF OWNER DATA, BEGIN FACTS DEVICE DATA
0 / END OF FACTS DEVICE DATA, BEGIN SWITCHED SHUNT DATA
4,0,0,1,1.5,0.5,0,100.0,' ',12.5,1,12.5
0 / END OF SWITCHED SHUNT DATA, BEGIN GNE DATA
0 / END OF GNE DATA, BEGIN INDUCTION MACHINE DATA
0 / END OF INDUCTION MACHINE DATA
Q
"""
LINE = "1,4,'1 ',0.01,0.1,0.04,100.0,0.0,0.0,0.001,0.002,0.003,-0.004,1,1,0.0,1,1.0"
LINES = f"{LINE}\n1,-4,'2 ',0.012,0.11,0.05,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0,1,0.0,1,1.0\n"
LOADS = "2,'1 ',1,1,1,20.0,5.0,0.0,0.0,1.5,-0.5,1,1,0\n3,'1 ',1,1,1,10.0,2.0,0.0,0.0,0.0,0.0,1,1,0\n3,'2 ',0,1,1,99.0,9.0,0,0,0,0,1,1,0\n"
SHUNTS = "3,'1 ',1,0.5,7.0\n3,'2 ',0,50.0,70.0\n"
UNITS = (
    "1,'1 ',40.0,0.0,60.0,-50.0,1.02,0,150.0,0.0,1.0,0.0,0.0,1.0,1,100.0,120.0,5.0,1,1.0\n"
    "4,'A ',0.0,0.0,30.0,-30.0,1.0,0,100.0,0.0,0.25,0.0,0.0,1.0,1,100.0,80.0,0.0,1,1.0\n"
)
CW = {1: ((1.05, 132.0), (0.98, 33.0), (1.01, 11.0)), 2: ((138.6, 132.0), (32.34, 33.0), (11.11, 11.0)), 3: ((1.02, 135.0), (0.97, 33.5), (1.03, 10.8))}  # fmt: skip
"""WINDV and NOMV of the three windings by CW."""
CZ = {1: (0.004, 0.08, 100.0), 2: (0.003, 0.1, 60.0), 3: (150000.0, 0.11, 50.0)}
"""R, X, SBASE by CZ."""


def windings(cw: int, n: int, angle: float = 0.0, rating: float = 70.0) -> str:
    windv, nomv = CW[cw][n - 1]
    return f"{windv},{nomv},{angle},{rating},0.0,0.0,0,0,1.1,0.9,1.1,0.9,33,0,0.0,0.0,0.0"


def two(
    cw: int, cz: int, cm: int = 1, angle: float = 0.0, stat: int = 1, mag: tuple[float, float] | None = None
) -> str:
    """A transformer from bus 1 to bus 2."""
    r, x, base = CZ[cz]
    first, second = mag or ((0.001, -0.01) if cm == 1 else (50000.0, 0.012))
    windv, nomv = CW[cw][1]
    head = f"1,2,0,'1 ',{cw},{cz},{cm},{first},{second},2,'T, 1/2      ',{stat},1,1.0,0,1.0,0,1.0,0,1.0,'YNyn0       '"
    return f"{head}\n{r},{x},{base}\n{windings(cw, 1, angle)}\n{windv},{nomv}\n"


def three(cw: int, cz: int, stat: int = 1, name: str = "1") -> str:
    """A transformer of buses 1, 2 and 3."""
    r, x, base = CZ[cz]
    head = f"1,2,3,'{name} ',{cw},{cz},1,0.0005,-0.002,2,'STAR        ',{stat},1,1.0,0,1.0,0,1.0,0,1.0,'            '"
    pairs = f"{r},{x},{base},{r * 1.2},{x * 1.5},{base},{r * 0.9},{x * 1.8},{base},1.01,-2.0"
    return "\n".join([head, pairs, windings(cw, 1), windings(cw, 2, 0.0, 60.0), windings(cw, 3, 0.0, 20.0), ""])


def raw33(transformers: str, *, head: str = "0, 100.00, 33, 0, 1, 60.00 / PSS(R)E-33", **parts: str) -> str:
    """A whole file of revision 33; sections can be replaced by name."""
    bus, load = parts.get("buses", BUSES), parts.get("loads", LOADS)
    return (
        f"{head}\nA TITLE / WITH A SLASH\nAND 'ANOTHER\n{bus}0 / END OF BUS DATA, BEGIN LOAD DATA\n{load}"
        f"0 / END OF LOAD DATA, BEGIN FIXED SHUNT DATA\n{parts.get('shunts', SHUNTS)}"
        f"0 / END OF FIXED SHUNT DATA, BEGIN GENERATOR DATA\n{parts.get('units', UNITS)}"
        f"0 / END OF GENERATOR DATA, BEGIN BRANCH DATA\n{parts.get('lines', LINES)}"
        f"0 / END OF BRANCH DATA, BEGIN TRANSFORMER DATA\n{transformers}{parts.get('ending', ENDING)}"
    )
