"""`advise`: from a sealed network to a recommendation, without looking at it. For all who ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridveil.advice.company import company
from gridveil.advice.explore import Progress, conductance, explore, quiet
from gridveil.advice.goals import Goals
from gridveil.advice.journal import Journal, begun_as
from gridveil.advice.recommend import Advice
from gridveil.advice.recommend import advice as judged
from gridveil.advice.search import Space
from gridveil.advice.stand_in import StandIn
from gridveil.privacy.ledger import Ledger
from gridveil.publish.elements import SameAs
from gridveil.publish.refuse import check_sealed
from gridveil.sealed.split import Sealed

MINUTES = 10.0


def advise(
    network: Sealed,
    goals: Goals | None = None,
    *,
    stand_ins: Sequence[StandIn] | None = None,
    space: Space | None = None,
    fixed: Mapping[str, Any] | None = None,
    ledger: Ledger | None = None,
    same_as: SameAs | None = None,
    minutes: float = MINUTES,
    workers: int = 2,
    out: Path | str | None = None,
    progress: Progress = quiet,
    stop: Callable[[], bool] = lambda: False,
) -> Advice:
    """Try settings of a release on stand-ins, and recommend one. The network itself is never looked at.

    Args:
        network: What `gv.seal` gave; its structure alone is used, and its accounts in the ledger.
        goals: What has to be hidden and kept.
        stand_ins: What plays the truth; else the public networks nearest in size and kind.
        space: What is varied.
        fixed: Words of the plan that are not, such as `{"ratings": "with-impedance"}`.
        ledger: Whose budget counts; a new one without it.
        same_as: As for `gv.release`.
        minutes: How long it may take.
        workers: Processes that try.
        out: A file in which trials are kept, so that the same call goes on where it was.
        progress: Called with how far it is.
        stop: Asked now and then whether to end.

    Returns:
        All settings that were tried, the recommended one, why, and the command.

    Raises:
        ReleaseError: The network is not sealed, or none can stand in.
        StudyError: A file of trials of something else.

    Examples:
        >>> small = gv.StandIn("case5_pjm", gv.load("case5_pjm"), "a small public network")
        >>> space = gv.Space(groups=("L",), alphas=(0.1,), epsilons=(1.0,), betas=(0.01,), mechanisms=("log",))
        >>> found = gv.advise(gv.seal("case14_ieee"), stand_ins=[small], space=space, minutes=0.02, workers=1)
        >>> found.command.startswith("gridveil release") or "nothing was tried" in found.reason
        True
    """
    check_sealed(network)
    wanted, chosen = goals or Goals(), dict(fixed or {})
    trying = list(stand_ins) if stand_ins is not None else company(network.structure)
    varied = space or Space()
    varied = Space(**{**varied.__dict__, "conductance": conductance(trying)})
    journal = None if out is None else Journal(Path(out), begun_as(trying, chosen))
    found = explore(
        trying, wanted, varied, chosen, minutes=minutes, workers=workers, journal=journal, progress=progress, stop=stop
    )
    return judged(network.name or "CASE", network, found, wanted, trying, chosen, ledger, same_as=same_as)
