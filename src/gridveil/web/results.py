"""Result and Review: what came of a release, and what can be checked of anybody's."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

from starlette.responses import FileResponse, HTMLResponse, Response

from gridveil.publish.archive import read_bundle
from gridveil.web.asked import Ask, page, part, sentence, to
from gridveil.web.comparing import changes, dispatches, done
from gridveil.web.desk import Desk
from gridveil.web.files import NotHere
from gridveil.web.jobs import Job

PAGE = "leaks.html"


def show(ask: Ask) -> Response:
    """The page Result. INTERNAL: it has the truth beside what was released."""
    desk, job = ask.desk, done(ask.desk)
    return page(
        desk, "result.html", "What came of it", step="result", job=job, **changes(desk, job.id),
        **dispatches(desk, job), **_leaks(desk, job),
    )  # fmt: skip


def live(ask: Ask) -> Response:
    """The part of it that waits for the leak check."""
    return part(ask.desk, "leaks.html", **_leaks(ask.desk, done(ask.desk)))


def check(ask: Ask) -> Response:
    """Begin the leak check of the release."""
    desk, job = ask.desk, done(ask.desk)
    now = _leaks(desk, job)["leaks"]
    if now is None or not now.running:
        place = desk.jobs.prepare("leak check")
        inside = place.relative_to(desk.folder.root)
        arguments = ["leakcheck", job.arguments[1], job.about["out"], "--out", str(inside / PAGE)]
        desk.jobs.start(place, "leakcheck", arguments, release=job.id)
    return to(desk, "result")


def public(ask: Ask) -> Response:
    """The green page: what is in the bundle and nothing else."""
    job = done(ask.desk)
    names = sorted(read_bundle(ask.desk.folder.within(ask.desk.folder.root / job.about["out"])).files)
    return page(
        ask.desk, "public.html", "The bundle", step="result", public=True, job=job, names=names,
        bundle=job.about["out"].rpartition("/")[2],
    )  # fmt: skip


def download(ask: Ask) -> Response:
    """The bundle as the command wrote it."""
    job = done(ask.desk)
    path = ask.desk.folder.within(ask.desk.folder.root / job.about["out"])
    return FileResponse(path, media_type="application/zip", filename=path.name)


def report(ask: Ask) -> Response:
    """The public page of the bundle, shut into a sandbox."""
    job = done(ask.desk)
    files = read_bundle(ask.desk.folder.within(ask.desk.folder.root / job.about["out"])).files
    return _alone(files["report.html"].decode())


def internal(ask: Ask) -> Response:
    """The page of the leak check, likewise."""
    found = _leaks(ask.desk, done(ask.desk))["leaks"]
    if found is None or not (found.place / PAGE).is_file():
        raise NotHere("there is no page of a leak check yet; begin one on the page Result")
    return _alone((found.place / PAGE).read_text(encoding="utf-8"))


def review(ask: Ask) -> Response:
    """The page Review."""
    return page(
        ask.desk, "review.html", "Check a bundle", step="review", public=True, files=ask.desk.folder.bundles(),
        **_verdict(ask.desk),
    )  # fmt: skip


def verdict(ask: Ask) -> Response:
    """The part of it that waits for the verdict."""
    return part(ask.desk, "verdict.html", **_verdict(ask.desk))


def verify(ask: Ask) -> Response:
    """Begin to verify a bundle, in a process of its own."""
    desk = ask.desk
    path = desk.folder.path(ask.form.get("file", ""), desk.folder.bundles())
    place = desk.jobs.prepare("verification")
    desk.jobs.start(place, "verify", ["verify", f"./{path}", "--json"], name=path.name)
    return to(desk, "review")


def _verdict(desk: Desk) -> dict[str, Any]:
    job = next(iter(desk.jobs.all("verify")), None)
    record: dict[str, Any] | None = None
    trouble = None
    if job is not None and not job.running:
        try:
            found: dict[str, Any] = json.loads(job.out)
        except ValueError:
            found = {"error": "the verification ended without a verdict; begin it again"}
        if "recomputed" in found:
            record = found
        else:
            trouble = sentence(desk, str(found.get("error")))
    return {"job": job, "record": record, "trouble": trouble}


def _leaks(desk: Desk, job: Job) -> dict[str, Any]:
    found = next((one for one in desk.jobs.all("leakcheck") if one.about.get("release") == job.id), None)
    lines = [] if found is None else [one.strip() for one in found.out.splitlines() if one.strip()]
    words = "" if found is None or found.running else (lines[-1] if found.code in (0, 5) and lines else "")
    trouble = [sentence(desk, one) for one in found.said[-2:]] if found is not None and not words else []
    return {"leaks": found, "words": words, "why": lines[-2] if words and len(lines) > 1 else "", "trouble": trouble}


def _alone(text: str) -> Response:
    """A page that was made to stand alone: it may run its own scripts, which are named by their digests, and reaches
    nothing: neither the network nor the workbench, from which its sandbox parts it."""
    scripts = re.findall(r"<script(?![^>]*application/json)[^>]*>(.*?)</script>", text, re.DOTALL)
    digests = " ".join(f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts) or "'none'"
    policy = (
        f"sandbox allow-scripts; default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; "
        "img-src data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})
