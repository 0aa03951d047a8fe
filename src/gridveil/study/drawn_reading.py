"""Read a dataset of draws: tables as pandas frames or Arrow, of some draws or of all. It may still be growing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.errors import StudyError
from gridveil.libraries import needed
from gridveil.shown import as_card
from gridveil.study.drawn import PART
from gridveil.study.drawn_manifest import Manifest, read_manifest
from gridveil.study.drawn_tables import DRAWS, ELEMENTS


@dataclass(frozen=True, eq=False)
class Draws:
    """A dataset of research draws, by `gv.draws`. NOT private.

    Attributes:
        folder: Where it is.
        manifest: Network, plans, seeds, versions, and what the columns of all tables mean.

    Examples:
        >>> from tempfile import mkdtemp
        >>> made = gv.write_draws("case14_ieee", gv.Plan(1.0, 0.1, 0.01), mkdtemp(), draws=2)
        >>> len(made), made.frame()["certified"].tolist()
        (2, [True, True])
        >>> made.arrow("generators", draws=[1]).num_rows
        5
    """

    folder: Path
    manifest: Manifest

    _repr_html_ = as_card

    def __len__(self) -> int:
        return int(self.arrow(columns=["draw"]).num_rows)

    def __repr__(self) -> str:
        certified = self.arrow(columns=["certified"])["certified"].to_pylist()
        known, plans = self.manifest, len(self.manifest.plans)
        name = known.network.get("name") or "a network"
        return (
            f"Draws({len(certified):,} of {name}, {sum(certified):,} certified, {plans} plan{'s' * (plans != 1)}; "
            "research, NOT private)"
        )

    def arrow(
        self, table: str = DRAWS, draws: Iterable[int] | None = None, columns: Sequence[str] | None = None
    ) -> Any:
        """`draws`, `buses`, `loads`, `generators` or `lines` as a `pyarrow.Table`, of all draws or of those numbers."""
        if table not in (DRAWS, *ELEMENTS):
            raise StudyError(f"there is no table '{table}'; there are {', '.join((DRAWS, *ELEMENTS))}")
        return read_parts(self.folder, table, columns, draws)

    def frame(
        self, table: str = DRAWS, draws: Iterable[int] | None = None, columns: Sequence[str] | None = None
    ) -> Any:
        """The same as a pandas frame."""
        needed("pandas", "frames")
        return self.arrow(table, draws, columns).to_pandas()


def draws(out: str | Path) -> Draws:
    """Read a dataset that `gridveil draws` or `gv.write_draws` made, of one that is still growing as far as it is.

    Args:
        out: Its directory.

    Returns:
        The dataset, whose tables are read when they are asked for.

    Raises:
        StudyError: There are no draws, or they are damaged.

    Examples:
        >>> from tempfile import mkdtemp
        >>> out = mkdtemp()
        >>> _ = gv.write_draws("case14_ieee", gv.Plan(1.0, 0.1, 0.01), out, draws=2)
        >>> gv.draws(out).frame("lines", draws=[2], columns=["line", "x_pu"]).shape
        (20, 2)
    """
    needed("pyarrow", "parquet")
    folder = Path(out)
    return Draws(folder, read_manifest(folder))


def parts(folder: Path) -> set[int]:
    """Numbers of the parts that count: those of the table `draws`."""
    found = (PART.fullmatch(path.name) for path in (folder / DRAWS).glob("part-*.parquet"))
    return {int(one[1]) for one in found if one}


def read_parts(
    folder: Path, table: str, columns: Sequence[str] | None = None, draws: Iterable[int] | None = None
) -> Any:
    """Rows of all parts of a table, in their order."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import dataset  # noqa: PLC0415

    paths = [folder / table / f"part-{number:06d}.parquet" for number in sorted(parts(folder))]
    if lost := [path for path in paths if not path.is_file()]:
        raise StudyError(
            f"{lost[0]} is missing; remove {folder / DRAWS / lost[0].name}, and the next run makes its draws again"
        )
    if not paths:
        return pa.table({name: pa.array([], pa.int64()) for name in columns or ("draw",)})
    try:
        data = dataset.dataset([str(path) for path in paths], format="parquet")
        wanted = None if draws is None else dataset.field("draw").isin([int(one) for one in draws])
        return data.to_table(columns=None if columns is None else list(columns), filter=wanted)
    except (pa.ArrowException, OSError, KeyError) as error:
        words = (str(error).splitlines() or [type(error).__name__])[0]
        raise StudyError(f"the table '{table}' in {folder} cannot be read ({words}); remove the damaged part") from None
