"""What must hold after any trial, whatever happened in it."""

from __future__ import annotations

from pathlib import Path

import gridveil as gv
from gridveil.errors import GridVeilError
from gridveil.grid import structure_of
from gridveil.privacy.ledger import Ledger
from gridveil.publish.elements import identities

from .scene import BUNDLE, LEDGER, LIMIT, Scene
from .trial import Outcome


def faults(
    scene: Scene, folder: Path, outcome: Outcome, before: int, old: dict[str, bytes], *, tidy: bool = True
) -> list[str]:
    """What is wrong. `before` are the charges that were there, `old` the bundle; `tidy` if nothing may lie about."""
    found = []
    if outcome.hung:
        found.append("it hangs")
    if "Traceback" in outcome.stderr or "Traceback" in outcome.stdout:
        found.append(f"traceback: {outcome.stderr.strip().splitlines()[-1]}")
    try:
        charges = charge_entries(folder)
    except GridVeilError as error:
        return [*found, f"the ledger is broken: {error}"]
    new = charges[before:]
    if outcome.draws > len(new):
        found.append(f"{outcome.draws} draws, {len(new)} charges")
    made = bundle_files(folder / BUNDLE)
    changed = made != old
    found += _bundle(scene, folder, made, changed)
    if outcome.code >= 0:
        found += _said(outcome, new, changed)
        left = [one.name for one in folder.iterdir() if one.name.startswith((".gridveil.", ".key.", ".ledger."))]
        if tidy and left:
            found.append(f"left behind: {', '.join(left)}")
    elif new and outcome.code != -9:
        found.append(f"ended by signal {-outcome.code} after the charge, nothing said")
    return found + _overspent(scene, folder) + _afterwards(scene, folder, before + len(new))


def charge_entries(folder: Path) -> list[int]:
    """The numbers of the charges in a ledger that is whole; none if there is no ledger yet."""
    path = folder / LEDGER
    if not Ledger.exists(path):
        return []
    return [entry.number for entry in Ledger.open(path).entries() if entry.kind == "charge"]


def bundle_files(place: Path) -> dict[str, bytes]:
    """A bundle as it is; nothing if there is none."""
    return {one.name: one.read_bytes() for one in sorted(place.iterdir())} if place.is_dir() else {}


def whole(place: Path) -> list[str]:
    """What is wrong with a bundle that is there."""
    try:
        checked = gv.verify(place)
    except GridVeilError as error:
        return [f"partial bundle: {error}"]
    return [] if checked.passed else [f"partial bundle: {', '.join(checked.failed)}"]


def _bundle(scene: Scene, folder: Path, made: dict[str, bytes], changed: bool) -> list[str]:
    place = folder / BUNDLE
    if not made:
        if place.exists():
            return ["partial bundle: an empty directory"]
        return ["the old bundle is gone, and there is no new one"] if scene.force else []
    return whole(place) if changed else []


def _said(outcome: Outcome, new: list[int], changed: bool) -> list[str]:
    """A spending is said, a release that is made ends with 0, and nothing else claims to be either."""
    if outcome.code == 0:
        return [] if changed and new else ["it ended with 0, but there is no release"]
    if outcome.code == 6:
        if not new:
            return ["it says that something is spent, but nothing is charged"]
        lacking = [number for number in new if not _named(number, outcome.stderr)]
        return [f"entries {lacking} are spent and not named: {outcome.stderr.strip()[-200:]}"] if lacking else []
    return [f"exit {outcome.code}, {len(new)} charges unsaid: {outcome.stderr.strip()[-200:]}"] if new else []


def _named(number: int, words: str) -> bool:
    last = words.strip().splitlines()[-1] if words.strip() else ""
    return "is spent all the same" in last and str(number) in last.rpartition("spent all the same")[2]


def _overspent(scene: Scene, folder: Path) -> list[str]:
    if not Ledger.exists(folder / LEDGER):
        return []
    book = Ledger.open(folder / LEDGER)
    spent = book.accounts(book.assets("", identities(structure_of(gv.load(scene.case).grid)))).largest
    return [f"{spent} spent of {LIMIT}"] if spent > LIMIT * (1 + 1e-9) else []


def _afterwards(scene: Scene, folder: Path, before: int) -> list[str]:
    """A release to which nothing happens works, and is counted."""
    try:
        scene.release(folder)
    except GridVeilError as error:
        return [f"no release afterwards: {error}"]
    return [] if len(charge_entries(folder)) > before else ["the release afterwards is not charged"]
