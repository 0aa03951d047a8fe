"""Power cuts: a release is watched, and after every change of a file the power is cut.

What was flushed is on disk; of everything else any part may be: the worst is that nothing is, the best that all is, and
between them names and blocks of files are chosen one by one. A name is on disk once its directory was flushed.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gridveil.errors import GridVeilError
from gridveil.privacy.ledger import Ledger

from .campaigns import Stage, timed
from .invariants import bundle_files, charge_entries, whole
from .record import Record
from .scene import BUNDLE, LEDGER, Scene, begin
from .syscalls import watched, why_not

BLOCK = 4096
Names = Mapping[str, int]


@dataclass(frozen=True)
class Disk:
    """Directories and files by their inodes."""

    root: int
    names: Mapping[int, Names]
    content: Mapping[int, bytes]

    @staticmethod
    def of(folder: Path) -> Disk:
        """As it is in memory."""
        names: dict[int, Names] = {}
        content: dict[int, bytes] = {}
        for here, _, _ in os.walk(folder):
            inside = {one.name: one.stat().st_ino for one in Path(here).iterdir()}
            names[Path(here).stat().st_ino] = inside
            content |= {inside[one.name]: one.read_bytes() for one in Path(here).iterdir() if one.is_file()}
        return Disk(folder.stat().st_ino, names, content)


@dataclass(frozen=True)
class Cut:
    """The power is cut before a call, with so many draws made; what is on disk for sure, and what may be."""

    call: str
    draws: int
    sure: Disk
    maybe: Disk


def recorded(stage: Stage) -> list[Cut]:
    """Every moment of one release."""
    shutil.rmtree(stage.trial, ignore_errors=True)
    begin(stage.template, stage.trial)
    first = Disk.of(stage.trial)
    names, content = dict(first.names), dict(first.content)
    cuts: list[Cut] = []

    def note(call: str, draws: int) -> None:
        sure = Disk(first.root, dict(names), dict(content))
        cuts.append(Cut(call, draws, sure, Disk.of(stage.trial)))

    def flushed(call: str, path: Path) -> None:
        now = Disk.of(stage.trial)
        inode = path.stat().st_ino if path.exists() else 0
        if inode in now.names:
            names[inode] = now.names[inode]
        elif inode in now.content:
            content[inode] = now.content[inode]

    outcome = watched(stage.scene, stage.trial, note, flushed)
    assert outcome.code == 0 and outcome.hit, outcome.stderr
    note("the end", outcome.draws)
    return cuts


def written(cut: Cut, target: Path, luck: random.Random | None, *, kept: bool = False) -> None:
    """What is found after a cut: nothing but what is sure, all of it (`kept`), or what luck leaves."""

    def choose(one: object, other: object) -> object:
        return (other if kept else one) if luck is None else luck.choice((one, other))

    def directory(inode: int, place: Path) -> None:
        place.mkdir()
        sure, maybe = cut.sure.names.get(inode, {}), cut.maybe.names.get(inode, {})
        for name in sorted({*sure, *maybe}):
            found = choose(sure.get(name), maybe.get(name))
            if not isinstance(found, int):
                continue
            if found in cut.maybe.names or found in cut.sure.names:
                directory(found, place / name)
            else:
                (place / name).write_bytes(content(found))

    def content(inode: int) -> bytes:
        sure = cut.sure.content.get(inode, b"")
        maybe = cut.maybe.content.get(inode, sure)
        if luck is None:
            return maybe if kept else sure
        size = luck.choice((len(sure), len(maybe)))
        pieces = [luck.choice((sure, maybe))[at : at + BLOCK] for at in range(0, size, BLOCK)]
        blocks = [piece.ljust(min(BLOCK, size - at * BLOCK), b"\0") for at, piece in enumerate(pieces)]
        return b"".join(blocks)[:size]

    directory(cut.sure.root, target)


def power(folder: Path, count: int, seed: int) -> Record:
    """Cuts before every call, first all lost, then all kept, then by luck, until there are `count`."""
    with timed("power cuts") as record:
        if (why := why_not()) is not None:
            record.kinds[f"skipped: {why}"] += 1
            return record
        scenes = (Scene(), Scene(force=True), Scene("private"), Scene(fresh=True))
        stages = [Stage(scene, folder / scene.name) for scene in scenes]
        cuts = [(stage, cut) for stage in stages for cut in recorded(stage)]
        known: dict[int, list[str]] = {}
        for number in range(count):
            (stage, cut), turn = cuts[number % len(cuts)], number // len(cuts)
            place = folder / "cut"
            shutil.rmtree(place, ignore_errors=True)
            luck = random.Random(f"{seed}/{number}") if turn > 1 else None
            written(cut, place, luck, kept=turn == 1)
            kind, wrong = _wrong(stage, place, cut, known)
            turns = ("all is lost", "all is kept", "luck")[min(turn, 2)]
            record.add(f"{turns}, {kind}", [f"{stage.scene.name}, before {cut.call}, {turns}: {one}" for one in wrong])
    return record


def _wrong(stage: Stage, place: Path, cut: Cut, known: dict[int, list[str]]) -> tuple[str, list[str]]:
    found, kind = list[str](), "ledger whole"
    try:
        if (charges := len(charge_entries(place)) - stage.before) < cut.draws:
            found.append(f"{cut.draws} draws, {charges} charges")
        if not Ledger.exists(place / LEDGER):
            kind = "no ledger yet"
    except GridVeilError as error:
        kind = f"ledger refused with a sentence: {str(error).replace(str(place), '')[:90]}"
    made = bundle_files(place / BUNDLE)
    if not made and (stage.scene.force or cut.call == "the end"):
        found.append("no bundle")
    elif cut.call == "the end" and made == stage.old:
        found.append("the release is lost")
    elif made and made != stage.old:
        key = hash(tuple(made.items()))
        known.setdefault(key, whole(place / BUNDLE))
        found += known[key]
    elif (place / BUNDLE).exists() and not made:
        found.append("an empty bundle")
    return kind, found
