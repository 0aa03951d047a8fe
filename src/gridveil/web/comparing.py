"""Result, beside the leak check: what changed, in figures; and two dispatches, by jobs of their own. INTERNAL."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network
from gridveil.errors import GridVeilError
from gridveil.files import write_whole
from gridveil.grid import Network
from gridveil.publish.archive import read_bundle
from gridveil.publish.bundle import MANIFEST
from gridveil.publish.manifest import protection_of, read_manifest
from gridveil.report.comparison import histogram, middle_change
from gridveil.report.dispatches import Dispatch, cost_words, dispatch, loadings, prices
from gridveil.report.internal import LINES_ALONE
from gridveil.report.maps.html import map_block
from gridveil.report.maps.pair import legend, pair_of_maps
from gridveil.report.maps.picture import picture_of
from gridveil.report.quantities import protected_pairs
from gridveil.wall.protection import GROUP_WORDS
from gridveil.web.asked import Ask, part, sentence, to
from gridveil.web.desk import Desk
from gridveil.web.jobs import Job, State
from gridveil.web.releasing import CASE, last
from gridveil.web.runner import OUT

KIND, RELEASED = "dispatch", "released.m"
SIDES = ("before", "after")
LARGEST = 20_000
"""Buses up to which maps are drawn."""
LONGEST = 2**28
"""Bytes of a dispatch as JSON."""


class Both(NamedTuple):
    """The truth as it was confirmed, and what was released of it."""

    truth: Network
    released: Network
    files: dict[str, bytes]


def done(desk: Desk) -> Job:
    """The latest release, once it is one."""
    job = last(desk)
    if job is None or job.state is not State.DONE:
        raise GridVeilError("there is no finished release yet; the page Release says how far it is")
    return job


def begin(ask: Ask) -> Response:
    """Solve both networks, each as a command of its own."""
    desk, job = ask.desk, done(ask.desk)
    now = _solving(desk, job)
    if any(one is not None and one.running for one in now.values()):
        raise GridVeilError("both networks are being solved already; wait for the end")
    files = both(desk, job.id).files
    for side in SIDES:
        place = desk.jobs.prepare("dispatch")
        case = job.arguments[1]
        if side == "after":
            write_whole(place / RELEASED, files["released.m"], 0o600)
            case = f"./{(place / RELEASED).relative_to(desk.folder.root)}"
        desk.jobs.start(place, KIND, ["opf", case, "--json", "--full"], release=job.id, side=side)
    return to(desk, "result")


def live(ask: Ask) -> Response:
    """The part of the page that waits for them."""
    return part(ask.desk, "dispatch.html", **dispatches(ask.desk, done(ask.desk)))


def dispatches(desk: Desk, job: Job) -> dict[str, Any]:
    """How far both are, and what came of them."""
    found = _solving(desk, job)
    if None in found.values():
        return {"solving": "", "shown": None, "unsolved": ""}
    if any(one is not None and one.running for one in found.values()):
        return {"solving": "running", "shown": None, "unsolved": ""}
    try:
        shown = _shown(desk, job.id, *(one.id for one in found.values() if one is not None))
        return {"solving": "done", "shown": shown, "unsolved": ""}
    except GridVeilError as error:
        return {"solving": "failed", "shown": None, "unsolved": sentence(desk, str(error))}


def _solving(desk: Desk, job: Job) -> dict[str, Job | None]:
    """The latest job of either side."""
    every = [one for one in desk.jobs.all(KIND) if one.about.get("release") == job.id]
    return {side: next((one for one in every if one.about.get("side") == side), None) for side in SIDES}


@lru_cache(maxsize=2)
def both(desk: Desk, release: str) -> Both:
    """The two networks of a release, which changes no more."""
    job = _job(desk, release)
    files = dict(read_bundle(desk.folder.within(desk.folder.root / job.about["out"])).files)
    original = next(iter((job.place / CASE).iterdir()))
    truth = desk.reader.read(str(original.relative_to(desk.folder.root))).network
    return Both(truth, to_network(read_bytes("released.m", files["released.m"])), files)


@lru_cache(maxsize=2)
def changes(desk: Desk, release: str) -> dict[str, Any]:
    """A map of the changes, and a histogram for every quantity that is protected."""
    truth, released, files = both(desk, release)
    protection = protection_of(read_manifest(files[MANIFEST])) or LINES_ALONE
    found = [
        {
            "words": f"{GROUP_WORDS[before.quantity.group]}: {before.quantity.people}",
            "count": len(before.value),
            "middle": middle_change(before.value, after.value),
            "figure": Markup(histogram(before.value, after.value)),
        }
        for before, after in protected_pairs(truth, released, protection)
    ]
    drawn = truth.grid.n_bus <= LARGEST
    return {"map": Markup(map_block(picture_of(released, original=truth))) if drawn else "", "changes": found}


@lru_cache(maxsize=2)
def _shown(desk: Desk, release: str, *jobs: str) -> dict[str, Any]:
    """Figures of two dispatches; both are read once."""
    truth, released, _ = both(desk, release)
    before, after = (
        _dispatch(network, _job(desk, name), side)
        for network, name, side in zip((truth, released), jobs, SIDES, strict=True)
    )
    loaded, priced = loadings(before, after), prices(before, after)
    maps = ("", "")
    if truth.grid.n_bus <= LARGEST:
        maps = pair_of_maps(truth.grid, before.loading, after.loading)
    return {
        "cost": cost_words(before, after), "maps": tuple(map(Markup, maps)), "legend": legend(),
        "loading": (Markup(loaded[0]), loaded[1]), "price": (Markup(priced[0]), priced[1]),
    }  # fmt: skip


def _dispatch(network: Network, job: Job, side: str) -> Dispatch:
    which = "original" if side == "before" else "released"
    path = job.place / OUT
    try:
        if path.stat().st_size > LONGEST:
            raise GridVeilError(f"the dispatch of the {which} network is too large to be shown")
        return dispatch(network, dict(json.loads(path.read_bytes())))
    except (OSError, ValueError, KeyError, TypeError):
        raise GridVeilError(f"the {which} network was not solved; solve both again") from None


def _job(desk: Desk, name: str) -> Job:
    job = desk.jobs.find(name)
    if job is None:
        raise GridVeilError("there is no such job any more; open the page again")
    return job
