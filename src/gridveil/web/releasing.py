"""Sign off and Release: what becomes public is said, confirmed by its owner in writing, and done by the command itself.

A confirmation holds for what its page showed: the file, the settings, the accounts. The page has a seal of all that; if
anything is different when it comes back, nothing is done.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.responses import Response

from gridveil.errors import GridVeilError
from gridveil.files import write_whole
from gridveil.publish.preview import Preview
from gridveil.web.asked import Ask, page, part, sentence, to
from gridveil.web.desk import Desk
from gridveil.web.jobs import Job
from gridveil.web.opened import Opened
from gridveil.web.security import same
from gridveil.web.settings import SOURCES, Settings, looked, seal

KIND = "release"
CASE = "case"


def signoff(ask: Ask) -> Response:
    """The page that says all of it."""
    desk, opened = ask.desk, ask.desk.opened()
    settings = desk.lying().settings
    opened.require_costs()
    plan, seen = looked(opened, settings, desk.ledger())
    nonce = secrets.token_hex(12)
    return page(
        desk, "signoff.html", "Sign off", step="signoff", opened=opened, settings=settings, seen=seen, plan=plan,
        nonce=nonce, seal=_sealed(desk, nonce, seal(opened, settings, seen, nonce)), keys=desk.folder.signing_keys(),
        running=_running(desk), sources=SOURCES,
        command=["gridveil", "release", Path(opened.name).name, *settings.options],
    )  # fmt: skip


def confirm(ask: Ask) -> Response:
    """Begin the release, if what was confirmed is what is there; the only way to a charge."""
    desk, form = ask.desk, ask.form
    nonce = form.get("nonce", "")
    if not re.fullmatch("[0-9a-f]{24}", nonce):
        raise GridVeilError("this is no confirmation of the page Sign off; nothing was charged")
    with desk.charging():
        settings, opened, seen = _confirmed(desk, form, nonce)
        _begin(desk, form, nonce, settings, opened, seen)
    return to(desk, "release")


def _confirmed(desk: Desk, form: Mapping[str, str], nonce: str) -> tuple[Settings, Opened, Preview]:
    """What was confirmed, if it is what is there, and nothing else is under way."""
    settings, opened = desk.lying().settings, desk.opened()
    opened.require_costs()
    _, seen = looked(opened, settings, desk.ledger())
    if (other := _running(desk)) is not None and other.id != nonce:
        raise GridVeilError("a release is running already; wait for its end. Nothing was charged")
    shown = _sealed(desk, nonce, seal(opened, settings, seen, nonce))
    if not same(shown, form.get("seal", "")):
        raise GridVeilError(
            "the network, the settings or the ledger have changed since that page was shown, so that it confirms "
            "something else; read the page again. Nothing was charged"
        )
    if form.get("name", "").strip() != opened.title:
        raise GridVeilError(f"to confirm, type the name of the network: {opened.title}. Nothing was charged")
    if seen.questions and form.get("meant") != "yes":
        raise GridVeilError("there are questions on the page; say that it is meant. Nothing was charged")
    seen.require(confirmed=True)
    return settings, opened, seen


def _begin(desk: Desk, form: Mapping[str, str], nonce: str, settings: Settings, opened: Opened, seen: Preview) -> None:
    """The command, in a folder that is named by the confirmation: pressing twice finds it there."""
    key = form.get("key", "")
    sign = [] if not key else ["--sign", f"./{desk.folder.path(key, desk.folder.signing_keys())}"]
    place = desk.jobs.prepare(KIND, nonce)
    case = _snapshot(place, opened.path.read_bytes(), opened.path.name, opened.digest)
    target = desk.folder.home / "releases" / f"{_plain(opened.title)}-{nonce[:8]}.zip"
    inside = str(target.relative_to(desk.folder.root))
    arguments = [
        "release", f"./{case.relative_to(desk.folder.root)}", *settings.options, "--report", "--out", inside,
        *sign, *desk.ledger_options, *(["--yes"] if seen.questions else []),
    ]  # fmt: skip
    desk.jobs.start(place, KIND, arguments, name=opened.name, title=opened.title, words=settings.words, out=inside)


def show(ask: Ask) -> Response:
    """The page Release."""
    return page(ask.desk, "release.html", "Release", step="release", **_live(ask))


def live(ask: Ask) -> Response:
    """The part of it that changes."""
    return part(ask.desk, "stages.html", **_live(ask))


def stop(ask: Ask) -> Response:
    """Ask the running release to end; what was charged stays charged."""
    if (job := _running(ask.desk)) is not None:
        ask.desk.jobs.stop(job)
    return to(ask.desk, "release")


def last(desk: Desk) -> Job | None:
    """The latest release."""
    return next(iter(desk.jobs.all(KIND)), None)


def _live(ask: Ask) -> dict[str, Any]:
    job = last(ask.desk)
    said = [] if job is None else [sentence(ask.desk, one.strip()) for one in job.said if one.strip()]
    return {"job": job, "said": said}


def _running(desk: Desk) -> Job | None:
    return next((one for one in desk.jobs.all(KIND) if one.running), None)


def _sealed(desk: Desk, nonce: str, digest: str) -> str:
    """By this run's secret, so that only a page of ours can have it."""
    return hmac.new(desk.session.secret, f"{nonce} {digest}".encode(), "sha256").hexdigest()


def _snapshot(place: Path, content: bytes, name: str, digest: str) -> Path:
    """The file as it was confirmed: what happens to it elsewhere changes nothing of what is released."""
    if sha256(content).hexdigest() != digest:
        raise GridVeilError("the file of the network has changed just now; read the page again. Nothing was charged")
    folder = place / CASE
    folder.mkdir(mode=0o700)
    write_whole(folder / name, content, 0o600)
    return folder / name


def _plain(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", title)[:40].lstrip(".-") or "network"
