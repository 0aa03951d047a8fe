"""The manifest of a dataset of draws: that it is research, of what it was made, by what, and what its columns are."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil import __version__
from gridveil.errors import StudyError
from gridveil.files import write_whole
from gridveil.study.drawn_tables import DRAWS, ELEMENTS, described
from gridveil.wall.codec import pack

if TYPE_CHECKING:
    import pyarrow as pa

    from gridveil.grid import Network
    from gridveil.publish.plan import Plan

FORMAT = "gridveil-draws-1"
NAME = "manifest.json"
STATEMENT = (
    "RESEARCH DATA, NOT PRIVATE. The noise came from seeds that are written down here: whoever has this dataset can "
    "take it off again, and many draws of one network average it away. No draw was charged to a ledger. INTERNAL if "
    "the original network is not public: do not publish this dataset, or any network in it."
)
READING = (
    "Every table is a folder of Parquet files. A draw is in this dataset if the table 'draws' has it; units stand in "
    "the metadata of every column. From Python: gridveil.draws(DIRECTORY).frame('lines')."
)


@dataclass(frozen=True)
class Manifest:
    """What is written beside the tables."""

    network: dict[str, Any]
    plans: list[dict[str, Any]]
    settings: dict[str, list[Any]]
    seeds: dict[str, int]
    tables: dict[str, Any]
    versions: dict[str, str]
    draws: dict[str, int]

    @staticmethod
    def begin(
        folder: Path, name: str, network: Network, plans: Sequence[Plan], settings: Mapping[str, Sequence[Any]],
        schema: Mapping[str, pa.Schema],
    ) -> tuple[Manifest, list[int]]:  # fmt: skip
        """The manifest of a new dataset or of one that goes on, and the place in it of each of the plans."""
        grid = network.grid
        about = {
            "name": name, "sha256": sha256(pack(network)).hexdigest(), "buses": grid.n_bus,
            "generators": grid.n_generator, "lines": grid.n_line,
        }  # fmt: skip
        given = [json.loads(json.dumps(asdict(plan), default=_plain)) for plan in plans]
        tables = {
            kind: {"rows": ELEMENTS.get(kind, "a row per draw: its seed and settings, and how it ended"),
                   "columns": described(schema[kind])}
            for kind in (DRAWS, *ELEMENTS)
        }  # fmt: skip
        known = read_manifest(folder) if (folder / NAME).exists() else Manifest(
            about, [], {one: [] for one in settings}, {}, tables, _versions(), {"made": 0, "certified": 0}
        )  # fmt: skip
        _check(folder, known, about, tables)
        place = list[int]()
        for number, plan in enumerate(given):
            if plan not in known.plans:
                known.plans.append(plan)
                for one, values in settings.items():
                    known.settings[one].append(values[number])
            place.append(known.plans.index(plan))
        return known, place

    def with_seeds(self, first: int, count: int) -> Manifest:
        """All seeds that have been asked for, of any plan."""
        low, high = self.seeds.get("first", first), self.seeds.get("last", first + count - 1)
        return replace(self, seeds={"first": min(low, first), "last": max(high, first + count - 1)})

    def counted(self, numbers: tuple[int, int]) -> Manifest:
        """With how many draws there are, and how many are certified."""
        return replace(self, draws={"made": numbers[0], "certified": numbers[1]})

    def write(self, folder: Path) -> None:
        """Write it, whole."""
        head = {"format": FORMAT, "research": True, "private": False, "statement": STATEMENT, "reading": READING}
        write_whole(folder / NAME, json.dumps(head | asdict(self), indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a dataset, or a sentence why it is none."""
    path = folder / NAME
    try:
        known = json.loads(path.read_bytes())
        if known["format"] != FORMAT:
            raise StudyError(f"{path} is of the format '{known['format']}', not {FORMAT}; choose another directory")
        names = ("network", "plans", "settings", "seeds", "tables", "versions", "draws")
        kinds = (dict, list, dict, dict, dict, dict, dict)
        if not all(isinstance(known[name], kind) for name, kind in zip(names, kinds, strict=True)):
            raise TypeError("it has another shape")
        if any(len(values) != len(known["plans"]) for values in known["settings"].values()):
            raise TypeError("it has another number of settings than of plans")
        return Manifest(*(known[name] for name in names))
    except FileNotFoundError:
        raise StudyError(f"there are no draws in {folder}; run 'gridveil draws CASE --out {folder}' first") from None
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}); move it away") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StudyError(f"{path} is damaged ({error}); these draws cannot be continued") from None


def _check(folder: Path, known: Manifest, about: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    """Draws of another network, another version or with other columns are not mixed."""
    if known.network.get("sha256") != about["sha256"]:
        raise StudyError(f"{folder} has draws of another network ({known.network.get('name')}); choose another --out")
    if known.versions.get("gridveil") != __version__:
        raise StudyError(
            f"{folder} was begun by version {known.versions.get('gridveil')} of GridVeil, and this is {__version__}: "
            "the same seed may give another draw; choose another --out"
        )
    if known.tables != tables:
        ours, theirs = (set(one.get(DRAWS, {}).get("columns", ())) for one in (tables, known.tables))
        names = ", ".join(sorted(ours ^ theirs)) or "of another kind"
        raise StudyError(f"{folder} has other columns of settings ({names}); give the same settings, or another --out")


def _versions() -> dict[str, str]:
    return {
        "gridveil": __version__, "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "pyarrow", "casadi")},
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
