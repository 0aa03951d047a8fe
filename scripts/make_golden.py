"""Make the golden bundles of what is written now, for tests/golden, if they are not there. Each is made once.

Every later version must read them and find what this one finds, the page byte for byte. The noise is seeded and
pretends to be exact, since these networks are public; the key that signs is thrown away.

python scripts/make_golden.py
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from msgspec import structs

import gridveil as gv
from gridveil.grid.profile import Profile
from gridveil.privacy.noise import ExactNoise, SeededNoise
from gridveil.privacy.signature import create_key, public_name, read_private_key
from gridveil.publish.manifest import FORMAT, JOINT_FORMAT
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release, publisher
from gridveil.report.public import public_report

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / FORMAT
HEAD = hashlib.sha256(b"the head of a ledger").hexdigest()


class GoldenNoise(SeededNoise):
    """Seeded, and says that it is exact: a bundle that says otherwise is not private, and would not be verified."""

    private = True

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.description = ExactNoise().description


def make(folder: Path, case: str, plan: gv.Plan, seed: int, profile: Profile | None = None) -> Release:
    """A release in a ledger of its own."""
    book = gv.Ledger.open(folder / f"{case}{seed}.db")
    made = release(gv.seal(case), plan, book, GoldenNoise(seed), profile=profile)
    privacy = structs.replace(made.manifest.privacy, ledger_head=HEAD)
    named = replace(made, manifest=structs.replace(made.manifest, privacy=privacy))
    return named.published_by(publisher("GridVeil's tests", "nobody", "CC BY 4.0"))


def main() -> None:
    makers = {FOLDER: lines, FOLDER.parent / JOINT_FORMAT / "page": joint}
    for folder, maker in makers.items():
        if folder.exists():
            print(f"{folder} exists: golden bundles are never made again")
        else:
            maker()


def joint() -> None:
    """Everything protected, with the page, in its second edition."""
    with tempfile.TemporaryDirectory() as name, patch("gridveil.publish.record.today", lambda: "2026-01-02"):
        made = make(Path(name), "case5_pjm", gv.Plan(1.0, 0.1, 0.05, protect="all"), 5)
        print(gv.verify(made.write(FOLDER.parent / JOINT_FORMAT / "page", extra={"report.html": public_report(made)})))


def lines() -> None:
    with tempfile.TemporaryDirectory() as name, patch("gridveil.publish.record.today", lambda: "2026-01-02"):
        folder = Path(name)
        create_key(folder / "golden.key")
        key = read_private_key(folder / "golden.key")
        plain = make(folder, "case3_lmbd", gv.Plan(1.0, 0.1, 0.01, cost="declared"), 1)
        plain.published_by(None).write(FOLDER / "plain")
        additive = make(folder, "case5_pjm", gv.Plan(1.0, 0.1, 0.01, "additive", published_cost=17550.0), 2)
        additive.write(FOLDER / "signed", sign=key)
        asked = make(folder, "case5_pjm", gv.Plan(1.0, 0.1, 0.01), 3)
        asked.write(FOLDER / "archive.zip", sign=key, extra={"report.html": public_report(asked)})
        plan = gv.Plan(1.0, 0.1, 0.05, steps=2, loss_within=2.0)
        horizon = make(folder, "case3_lmbd", plan, 4, gv.make_profile("case3_lmbd", 3))
        horizon.write(FOLDER / "horizon", extra={"report.html": public_report(horizon)})
        (FOLDER / "golden.pub").write_bytes(public_name(folder / "golden.key").read_bytes())
    for path in sorted(FOLDER.iterdir()):
        if path.suffix != ".pub":
            key_file = FOLDER / "golden.pub" if path.name in ("signed", "archive.zip") else None
            print(path.name, gv.verify(path, publisher=key_file).sentence)


if __name__ == "__main__":
    main()
