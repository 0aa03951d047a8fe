"""Cases in, whatever form they have; tables, profiles and objects of other libraries out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil.casefile import Case
from gridveil.casefile.labels import labels
from gridveil.casefile.profile import read_profile as read_profile_file
from gridveil.casefile.read import read_bytes
from gridveil.errors import WallBreach
from gridveil.formats.find import load, named_case, read_case
from gridveil.grid import Grid, Network
from gridveil.grid.changes import Comparison
from gridveil.grid.changes import compare as networks_compared
from gridveil.grid.frames import Frames, network_frames
from gridveil.grid.profile import Profile
from gridveil.grid.profile import make_profile as profile_by_rule
from gridveil.sealed.split import Sealed, split

if TYPE_CHECKING:
    from gridveil.publish.release import Release


def seal(case: str | Path | Case | Network | Any) -> Sealed:
    """Seal a network: its structure can be seen, its numbers only be released.

    Args:
        case: A file of any format, the name of a shipped case, a `Case`, a `Network`, or an object of another library.

    Returns:
        The network behind a door that only `gv.release` opens.

    Raises:
        CaseFileError: The file cannot be read as a network; the error says where and what to do.

    Examples:
        >>> gv.seal("case39_epri")
        Sealed(39 buses, 46 lines, 4 of them lossless)
    """
    if isinstance(case, str | Path):
        case = read_case(case)
    if not isinstance(case, Case | Network):
        from gridveil.formats.objects import from_object

        case = named_case(from_object(case))
    return split(case)


def read_profile(path: str | Path, case: str | Path | Case | Network) -> Profile:
    """Read the demand of every step of a horizon from a CSV or Parquet file.

    Args:
        path: A table with the columns `step, bus, p_mw, q_mvar`, or `step, scale`.
        case: The network whose loads they are.

    Returns:
        The demand of every step and bus, in per unit.

    Raises:
        CaseFileError: The table lacks a column, names an unknown bus, or leaves out a step.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "day.csv"
        >>> _ = file.write_text("step,scale\\n1,0.8\\n2,1.0\\n3,0.9\\n")
        >>> gv.read_profile(file, "case14_ieee")
        Profile(steps 1 to 3, 14 buses)
    """
    return read_profile_file(path, _grid(case))


def make_profile(
    case: str | Path | Case | Network,
    steps: int,
    rule: str = "uniform",
    *,
    per_bus: bool = True,
    low: float = 0.8,
    high: float = 1.1,
    seed: int = 0,
) -> Profile:
    """Make a horizon of demands by a rule.

    Args:
        case: The network whose loads are scaled.
        steps: How many steps there are.
        rule: `uniform` (at random), `sine` or `ramp`.
        per_bus: Scale each bus for itself, or all alike.
        low: The least scale.
        high: The largest.
        seed: The same seed gives the same profile.

    Returns:
        The demand of every step and bus, in per unit.

    Raises:
        GridError: There is no such rule, or the numbers make no range.

    Examples:
        >>> day = gv.make_profile("case14_ieee", 24, "sine", low=0.7, high=1.05)
        >>> len(day)
        24
    """
    return profile_by_rule(_grid(case), steps, rule, per_bus=per_bus, low=low, high=high, seed=seed)


def frames(case: str | Path | Case | Network | Release | Any) -> Frames:
    """Buses, generators and lines as pandas frames in MW, Mvar, MVA and degrees; buses by their numbers.

    A case has the names of its buses, if it has any; a release has its operating point beside its numbers. Frames of a
    true network are as secret as the network.

    Args:
        case: A file, a shipped case's name, a case, a network, a release, or an object of another library.

    Returns:
        Three frames: `buses`, `generators`, `lines`.

    Raises:
        CaseFileError: The file cannot be read as a network.
        GridVeilError: pandas is not installed; the error says how to get it.

    Examples:
        >>> gv.frames("case14_ieee")
        Frames(buses: 14 rows, generators: 5, lines: 20)
        >>> gv.frames("case14_ieee").buses.loc[2, ["pd_mw", "qd_mvar"]].tolist()
        [21.7, 12.7]
    """
    from gridveil.publish.release import Release

    if isinstance(case, str | Path):
        case = read_case(case)
    if isinstance(case, Case):
        return network_frames(load(case), labels(case, live=True).bus_name)
    return case.frames() if isinstance(case, Release) else network_frames(load(case))


def compare(original: str | Path | Case | Network, released: str | Path | Case | Network | Release) -> Comparison:
    """Lines, ratings, loads, limits and costs before and after, with their relative change. INTERNAL.

    Args:
        original: The true network.
        released: What was made of it: a release, a network, or a bundle's `released.m`.

    Returns:
        A frame per group of numbers, each stamped INTERNAL: never publish one.

    Raises:
        GridError: The two have different buses, units or lines.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> both = gv.compare("case14_ieee", made)
        >>> list(both.lines.columns)
        ['from_bus', 'to_bus', 'quantity', 'before', 'after', 'change']
        >>> len(both.loads), float(both.loads["change"].abs().max())  # only lines were protected
        (22, 0.0)
    """
    from gridveil.publish.release import Release

    return networks_compared(load(original), released.network if isinstance(released, Release) else load(released))


def to_pypower(case: str | Path | Case | Network | Release) -> dict[str, Any]:
    """Give a case, a network or a release as a PYPOWER dict.

    Args:
        case: What to give; a `Network` has no operating point, and is written flat.

    Returns:
        The dict that PYPOWER's functions take.

    Raises:
        CaseFileError: The file cannot be read as a network.

    Examples:
        >>> gv.to_pypower("case14_ieee")["bus"].shape
        (14, 13)
    """
    from gridveil.formats import objects

    return objects.to_pypower(_case(case))


def to_pandapower(case: str | Path | Case | Network | Release) -> Any:
    """Give a case, a network or a release as a pandapower net; pandapower is loaded now.

    Args:
        case: What to give; a `Network` has no operating point, and is written flat.

    Returns:
        A `pandapowerNet`.

    Raises:
        GridVeilError: pandapower is not installed; the error says how to get it.

    Examples:
        >>> net = gv.to_pandapower("case14_ieee")
        >>> len(net.bus)
        14
    """
    from gridveil.formats import objects

    return objects.to_pandapower(_case(case))


def to_pypsa(case: str | Path | Case | Network | Release) -> Any:
    """Give a case, a network or a release as a PyPSA network; PyPSA is loaded now.

    Args:
        case: What to give; a `Network` has no operating point, and is written flat.

    Returns:
        A `pypsa.Network`.

    Raises:
        GridVeilError: PyPSA is not installed; the error says how to get it.

    Examples:
        >>> net = gv.to_pypsa("case14_ieee")
        >>> len(net.buses)
        14
    """
    from gridveil.formats import objects

    return objects.to_pypsa(_case(case))


def _case(case: str | Path | Case | Network | Release) -> Case:
    from gridveil.formats.objects import case_of
    from gridveil.publish.release import Release

    if isinstance(case, Release):  # what is written is what is certified
        return read_bytes("released.m", case.text.encode())
    if isinstance(case, Network):
        return case_of(case)
    return case if isinstance(case, Case) else read_case(case)


def _grid(case: str | Path | Case | Network | Sealed) -> Grid:
    if isinstance(case, Sealed):
        raise WallBreach("a sealed network shows no loads to make a profile of; give the case that was sealed")
    return load(case).grid
