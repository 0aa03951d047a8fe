"""Research draws by the thousand on disk: DIR holds `manifest.json` and a Parquet table per kind, in parts.

A part has the same draws in every table. They appear under their names only when they are whole, that of `draws` as the
last: what it lists is there, and what it does not list is swept away by the next run, which makes those draws again. So
a kill at any moment loses the draws of the last seconds and nothing else, and none is there twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from gridveil.errors import StudyError
from gridveil.libraries import needed

if TYPE_CHECKING:
    from gridveil.casefile import Case
    from gridveil.grid import Network
    from gridveil.publish.plan import Plan
    from gridveil.study.drawn_reading import Draws
    from gridveil.study.many import ResearchDraw

SECONDS, ROWS = 20.0, 500_000
"""A part is written after so much time, or at so many rows of all tables."""
PART = re.compile(r"part-(\d+)\.parquet")
MOST = 2**53
"""Draws, and seeds: numbers that every tool reads."""


class State(NamedTuple):
    """How far a run is."""

    done: int
    total: int
    failed: int
    """Of this run: draws without a certified network."""
    left: float | None
    """Seconds that the rest will take, once every plan has been drawn."""


def write_draws(
    case: str | Path | Case | Network,
    plans: Plan | Sequence[Plan],
    out: str | Path,
    draws: int = 1000,
    *,
    first_seed: int = 0,
    workers: int = 1,
    progress: Callable[[State], None] | None = None,
) -> Draws:
    """Draw every plan with every seed into a Parquet dataset; stopped at any time, the same call goes on.

    Research, and NOT private: who has the seeds has the original. The dataset says so in its manifest.

    Args:
        case: A file, a shipped case's name, a case or a network.
        plans: One plan, or several.
        out: The directory of the dataset. More draws or more plans can be added to one that is there.
        draws: How many seeds each plan is drawn with.
        first_seed: The first of them.
        workers: Processes that draw; the dataset is the same whatever their number.
        progress: Called after every draw with how far the run is.

    Returns:
        The dataset, as `gv.draws` reads it.

    Raises:
        StudyError: No draws, or a directory of something else, of another network or another version.
        ReleaseError: What a release would refuse before its draw.

    Examples:
        >>> from tempfile import mkdtemp
        >>> plans = [gv.Plan(1.0, alpha, 0.01) for alpha in (0.1, 0.3)]
        >>> made = gv.write_draws("case14_ieee", plans, mkdtemp(), draws=3)
        >>> made
        Draws(6 of case14_ieee, 6 certified, 2 plans; research, NOT private)
        >>> made.frame("lines").groupby("alpha")["x_pu"].count().to_dict()
        {0.1: 60, 0.3: 60}
    """
    needed("pyarrow", "parquet")
    from gridveil.formats.find import load, read_case  # noqa: PLC0415
    from gridveil.publish.plan import Plan  # noqa: PLC0415
    from gridveil.sealed.split import split  # noqa: PLC0415
    from gridveil.study.drawn_manifest import Manifest  # noqa: PLC0415
    from gridveil.study.drawn_reading import draws as read_draws  # noqa: PLC0415
    from gridveil.study.drawn_tables import schemas, settings_of, tables  # noqa: PLC0415 - it loads Arrow
    from gridveil.study.lock import locked  # noqa: PLC0415
    from gridveil.study.many import draw_tasks  # noqa: PLC0415

    folder, asked = Path(out), [plans] if isinstance(plans, Plan) else list(plans)
    if not asked or not 1 <= draws <= MOST or not 0 <= first_seed <= MOST:
        raise StudyError("a dataset needs at least one plan and one draw of it, and seeds from 0 on")
    source = read_case(case) if isinstance(case, str | Path) else case
    sealed, network = split(source), load(source)
    settings = settings_of(asked)
    schema = schemas(network, settings)
    _check_directory(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with closing(locked(folder, "drawing")):
            known, place = Manifest.begin(folder, sealed.name, network, asked, settings, schema)
            known = known.with_seeds(first_seed, draws)
            known.write(folder)
            store = _Store(folder)
            there = store.recover()
            todo = [
                (number, seed)
                for seed in range(first_seed, first_seed + draws)
                for number in range(len(asked))
                if (place[number] + 1, seed) not in there
            ]
            run = _Run(store, len(asked) * draws, len(todo), len(asked), progress)
            with closing(draw_tasks(sealed, asked, todo, workers)) as made:  # type: ignore[type-var]
                try:
                    for (number, _), draw in zip(todo, made, strict=True):
                        run.add((place[number], draw))
                        if run.full(network):
                            run.flush(known.settings, schema, tables)
                finally:
                    run.flush(known.settings, schema, tables)
            known.counted(store.numbers()).write(folder)
    except OSError as error:
        raise StudyError(
            f"draws cannot be written to {folder} ({error.strerror or error}); what is there stays, run the same again "
            "when there is room"
        ) from error
    return read_draws(folder)


class _Run:
    """What is drawn and not yet in a part, and how far all of it is."""

    def __init__(
        self, store: _Store, total: int, todo: int, plans: int, progress: Callable[[State], None] | None
    ) -> None:
        self.store, self.total, self.todo, self.plans, self.progress = store, total, todo, plans, progress
        self.made: list[tuple[int, int, ResearchDraw]] = []
        self.ended = self.failed = 0
        self.begun = self.flushed = perf_counter()

    def add(self, one: tuple[int, ResearchDraw]) -> None:
        self.store.last += 1
        self.made.append((self.store.last, *one))
        self.ended, self.failed = self.ended + 1, self.failed + (not one[1].certified)
        if self.progress is not None:
            if self.ended == 1:  # what comes before the first is over
                self.begun = perf_counter()
            each = (perf_counter() - self.begun) / max(self.ended - 1, 1)
            left = each * (self.todo - self.ended) if self.ended > 2 * self.plans else None
            self.progress(State(self.total - self.todo + self.ended, self.total, self.failed, left))

    def full(self, network: Network) -> bool:
        rows = len(self.made) * (2 * network.grid.n_bus + network.grid.n_generator + network.grid.n_line)
        return rows >= ROWS or perf_counter() - self.flushed >= SECONDS

    def flush(self, settings: Any, schema: Any, tables: Callable[..., dict[str, Any]]) -> None:
        made, self.made, self.flushed = self.made, [], perf_counter()
        if made:
            self.store.add(tables(made, settings, schema))


class _Store:
    """The parts of all tables in one directory."""

    def __init__(self, folder: Path) -> None:
        from gridveil.study.drawn_tables import DRAWS, ELEMENTS  # noqa: PLC0415

        self.folder, self.kinds, self.last = folder, (*ELEMENTS, DRAWS), 0
        for kind in self.kinds:
            (folder / kind).mkdir(exist_ok=True)

    def recover(self) -> set[tuple[int, int]]:
        """Sweep away what a kill left half done; then which plan has been drawn with which seed."""
        from gridveil.study.drawn_reading import parts, read_parts  # noqa: PLC0415

        counted = parts(self.folder)
        for kind in self.kinds:
            for path in (self.folder / kind).iterdir():
                named = PART.fullmatch(path.name)
                if path.name.endswith(".staging") or (named and int(named[1]) not in counted):
                    path.unlink()
        table = read_parts(self.folder, self.kinds[-1], ["draw", "plan", "seed"])
        self.last = max(table["draw"].to_pylist(), default=0)
        return set(zip(table["plan"].to_pylist(), table["seed"].to_pylist(), strict=True))

    def add(self, made: Mapping[str, Any]) -> None:
        """A part of every table: all on disk before any has its name, and `draws` gets its own as the last."""
        from pyarrow import parquet  # noqa: PLC0415

        from gridveil.files import sync_directory  # noqa: PLC0415
        from gridveil.study.drawn_reading import parts  # noqa: PLC0415

        name = f"part-{1 + max(parts(self.folder), default=0):06d}.parquet"
        staged = {self.folder / kind / name: self.folder / kind / f"_{name}.staging" for kind in self.kinds}
        try:
            for kind, staging in zip(self.kinds, staged.values(), strict=True):
                parquet.write_table(made[kind], staging)
                with staging.open("rb") as stream:
                    os.fsync(stream.fileno())
            for path, staging in staged.items():
                staging.replace(path)
                sync_directory(path.parent)
        finally:
            for staging in staged.values():
                staging.unlink(missing_ok=True)

    def numbers(self) -> tuple[int, int]:
        """How many draws there are, and how many are certified."""
        from gridveil.study.drawn_reading import read_parts  # noqa: PLC0415

        certified = read_parts(self.folder, self.kinds[-1], ["certified"])["certified"].to_pylist()
        return len(certified), sum(certified)


def _check_directory(folder: Path) -> None:
    """Refuse a directory of something else."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is not a directory; choose another --out")
    others = (
        sorted(one.name for one in folder.iterdir() if not one.name.startswith((".", "_"))) if folder.exists() else []
    )
    if others and "manifest.json" not in others:
        raise StudyError(f"{folder} holds other things ({others[0]}); give a new directory, or one of draws")
