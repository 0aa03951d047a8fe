"""Which records a RAW file of a revision has, in which order, and where their fields stand. Names are those of RAWX."""

from __future__ import annotations

REVISIONS = (32, 33, 34, 35)

_OWNERS = tuple(f"{kind}{n}" for n in (1, 2, 3, 4) for kind in "of")
_BUS = ("ibus", "name", "baskv", "ide", "area", "zone", "owner", "vm", "va", "nvhi", "nvlo", "evhi", "evlo")
_LOAD = (
    "ibus", "loadid", "stat", "area", "zone", "pl", "ql", "ip", "iq", "yp", "yq", "owner", "scale", "intrpt",
    "dgenp", "dgenq", "dgenm", "loadtype",
)  # fmt: skip
_LOAD_UP_TO = {32: 13, 33: 14, 34: 17, 35: 18}
_SHUNT = ("ibus", "shntid", "stat", "gl", "bl")
_UNIT = (
    "ibus", "machid", "pg", "qg", "qt", "qb", "vs", "ireg", "mbase", "zr", "zx", "rt", "xt", "gtap", "stat", "rmpct",
    "pt", "pb", *_OWNERS, "wmod", "wpf",
)  # fmt: skip
_UNIT_35 = (*_UNIT[:8], "nreg", *_UNIT[8:18], "baslod", *_UNIT[18:])
_RATES = tuple(f"rate{n}" for n in range(1, 13))
_LINE_END = ("gi", "bi", "gj", "bj", "stat", "met", "len", *_OWNERS)
_LINE = ("ibus", "jbus", "ckt", "rpu", "xpu", "bpu", "rate1", "rate2", "rate3", *_LINE_END)
_LINE_34 = ("ibus", "jbus", "ckt", "rpu", "xpu", "bpu", "name", *_RATES, *_LINE_END)
_SWITCH = ("ibus", "jbus", "ckt", "xpu", *_RATES, "stat", "nstat", "met", "stype", "name")
_SWITCHED = ("ibus", "modsw", "adjm", "stat", "vswhi", "vswlo", "swreg", "rmpct", "rmidnt", "binit")
_SWITCHED_35 = (
    "ibus", "shntid", "modsw", "adjm", "stat", "vswhi", "vswlo", "swreg", "nreg", "rmpct", "rmidnt", "binit",
)  # fmt: skip
_HEAD = (
    "ibus", "jbus", "kbus", "ckt", "cw", "cz", "cm", "mag1", "mag2", "nmet", "name", "stat", *_OWNERS, "vecgrp", "zcod",
)  # fmt: skip
_IMPEDANCE = (
    "r1_2", "x1_2", "sbase1_2", "r2_3", "x2_3", "sbase2_3", "r3_1", "x3_1", "sbase3_1", "vmstar", "anstar",
)  # fmt: skip


def _winding(n: int, revision: int) -> tuple[str, ...]:
    rates = tuple(f"wdg{n}rate{k}" for k in range(1, 13 if revision >= 34 else 4))
    node = (f"node{n}",) if revision == 35 else ()
    rest = ("rma", "rmi", "vma", "vmi", "ntp", "tab", "cr", "cx", "cnxa")
    return (
        f"windv{n}", f"nomv{n}", f"ang{n}", *rates, f"cod{n}", f"cont{n}", *node, *(f"{name}{n}" for name in rest)
    )  # fmt: skip


def transformer_records(revision: int) -> tuple[tuple[str, ...], ...]:
    """The fields of the five lines of a 3-winding transformer; one with two windings has four."""
    return (_HEAD if revision == 35 else _HEAD[:-1], _IMPEDANCE, *(_winding(n, revision) for n in (1, 2, 3)))


def fields(section: str, revision: int) -> dict[str, int]:
    """Field -> its place in a record of one line."""
    names: dict[str, tuple[str, ...]] = {
        "bus": _BUS if revision >= 33 else _BUS[:9],
        "load": _LOAD[: _LOAD_UP_TO[revision]],
        "fixshunt": _SHUNT,
        "generator": _UNIT_35 if revision == 35 else _UNIT,
        "acline": _LINE_34 if revision >= 34 else _LINE,
        "sysswd": _SWITCH,
        "swshunt": _SWITCHED_35 if revision == 35 else _SWITCHED,
        "twotermdc": ("name", "mdc"),
        "vscdc": ("name", "mdc"),
        "ntermdc": ("name", "nconv", "ndcbs", "ndcln", "mdc"),
        "msline": ("ibus", "jbus", "mslid", "met"),
        "facts": ("name", "ibus", "jbus", "mode"),
        "gne": ("name",),
        "indmach": ("ibus", "imid", "stat"),
    }
    return {name: place for place, name in enumerate(names.get(section, ()))}


def sections(revision: int) -> tuple[str, ...]:
    """The order of the sections; those that say nothing of the model stand there too."""
    order = [
        "bus", "load", "fixshunt", "generator", "acline", "sysswd", "transformer", "area", "twotermdc", "vscdc",
        "impcor", "ntermdc", "msline", "zone", "iatrans", "owner", "facts", "swshunt", "gne", "indmach", "substation",
    ]  # fmt: skip
    if revision < 34:
        order.remove("sysswd")
        order.remove("substation")
    if revision < 33:
        order.remove("indmach")
    return tuple(order)


WORDS = {
    "bus": "BUS DATA", "load": "LOAD DATA", "fixshunt": "FIXED SHUNT", "generator": "GENERATOR", "acline": "BRANCH",
    "sysswd": "SWITCHING DEVICE", "transformer": "TRANSFORMER", "area": "AREA", "twotermdc": "TWO-TERMINAL",
    "vscdc": "VOLTAGE SOURCE", "impcor": "IMPEDANCE CORRECTION", "ntermdc": "MULTI-TERMINAL",
    "msline": "MULTI-SECTION", "zone": "ZONE", "iatrans": "INTER-AREA", "owner": "OWNER", "facts": "FACTS",
    "swshunt": "SWITCHED SHUNT", "gne": "GNE", "indmach": "INDUCTION MACHINE", "substation": "SUBSTATION",
}  # fmt: skip
"""Section -> how the comment at the end of the one before calls it; checked where there is such a comment."""
ALSO = {
    "VSC DC": "vscdc",
    "SYSTEM SWITCHING": "sysswd",
    "NON-TRANSFORMER": "acline",
    "GENERIC": "gne",
    "SHUNT DATA": "fixshunt",
}
"""Other words for them."""
