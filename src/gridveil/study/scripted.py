"""Studies from Python: which there are, run one, read its results as a table. INTERNAL: they compare with the truth.

Dask and Arrow are extras, and are loaded when a study is run or read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil.errors import StudyError
from gridveil.libraries import needed

if TYPE_CHECKING:
    from distributed.security import Security

    from gridveil.study.declare import Setting
    from gridveil.study.runner import Progress, Summary


def studies() -> dict[str, str]:
    """List the studies: the paper's tables and figures, and ours.

    Returns:
        Titles by name.

    Examples:
        >>> gv.studies()["frontier"]
        'Privacy against fidelity'
    """
    from gridveil.study.catalogue import STUDIES  # noqa: PLC0415 - studies know every part of the package

    return {name: study.title for name, study in STUDIES.items()}


def run_study(
    name: str,
    out: Path | str,
    cases: Sequence[str] | None = None,
    draws: int | None = None,
    settings: Mapping[str, Sequence[Setting]] | None = None,
    workers: int = 2,
    *,
    scheduler: str | None = None,
    security: Security | None = None,
    insecure: bool = False,
    retry_failed: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Run what is missing of a study; stopped at any time, the same call goes on. INTERNAL.

    A script that calls this needs `if __name__ == "__main__":`, since workers import it again.

    Args:
        name: One of `gv.studies()`.
        out: The directory of results.
        cases: Files or shipped cases; else the study's own.
        draws: How many of each combination of settings; else the study's own.
        settings: Other values of some settings, such as `{"alpha": (0.1, 0.3)}`.
        workers: Processes on this machine.
        scheduler: The address of a Dask scheduler that exists, instead.
        security: Its credentials: who can connect to a scheduler can run anything on it.
        insecure: Use one without TLS.
        retry_failed: Run failed tasks again.
        progress: Called with tasks done, tasks in all, and failures.

    Returns:
        How many tasks there are, were run, and failed.

    Raises:
        StudyError: An unknown study or setting, or a directory that holds something else.

    Examples:
        >>> from tempfile import mkdtemp
        >>> out = mkdtemp()
        >>> alphas = {"alpha": (0.1,), "mechanism": ("log",)}
        >>> done = gv.run_study("costs", out, ["case14_ieee"], draws=2, settings=alphas, workers=1)
        >>> done.failed, len(gv.results(out)) == done.run > 0
        (0, True)
    """
    needed("distributed", "study")
    needed("pyarrow", "study")
    from gridveil.study.catalogue import study  # noqa: PLC0415
    from gridveil.study.runner import run_study as run  # noqa: PLC0415 - it loads Dask

    return run(study(name), out, cases, draws, settings, workers, scheduler, security, insecure, retry_failed, progress)


def results(out: Path | str, name: str | None = None, *, arrow: bool = False) -> Any:
    """Read the results of a study, of one that is still running as far as it is. INTERNAL.

    Args:
        out: The directory of results.
        name: Which study; may be left out where there is one.
        arrow: Give a `pyarrow.Table`.

    Returns:
        A pandas frame with a row per draw (or step, or attack), its settings and its figures.

    Raises:
        StudyError: There are no results, several studies and no name, or results of another version.

    Examples:
        >>> gv.results("nothing/here")
        Traceback (most recent call last):
        gridveil.errors.StudyError: there are no results in nothing/here; run ...
    """
    needed("pyarrow", "study")
    from gridveil.study.catalogue import STUDIES  # noqa: PLC0415
    from gridveil.study.store import read_results  # noqa: PLC0415 - it loads Arrow

    found = read_results(Path(out), STUDIES)
    if name is None and len(found) > 1:
        raise StudyError(f"there are results of several studies in {out}; name one of {', '.join(found)}")
    if name is not None and name not in found:
        raise StudyError(f"there are no results of '{name}' in {out}; there are those of {', '.join(found)}")
    table = found[name or next(iter(found))]
    if arrow:
        return table
    needed("pandas", "frames")
    return table.to_pandas()
