"""Explore: `advise` as a job; its table is made from the file of trials, while it grows."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from time import time
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from gridveil.advice.choice import Choice
from gridveil.advice.explore import Explored
from gridveil.advice.goals import Goals, goals
from gridveil.advice.journal import looked_into
from gridveil.advice.recommend import Advice
from gridveil.advice.recommend import advice as judged
from gridveil.advice.standing import STAND_IN
from gridveil.errors import GridVeilError
from gridveil.report.advice import figure
from gridveil.study.declare import Row
from gridveil.web.asked import Ask, page, part, sentence, to
from gridveil.web.desk import Desk
from gridveil.web.jobs import Job
from gridveil.web.opened import Opened
from gridveil.web.settings import Settings

TRIALS = "trials.jsonl"
LONGEST = 240.0
"""Minutes."""
SHOWN = 40


@dataclass(frozen=True)
class Wanted:
    """What was asked for, as a form has it."""

    hide: str = "10%"
    cost: str = "1%"
    gap: str = "1"
    minutes: str = "5"


def show(ask: Ask) -> Response:
    """The page, with the wishes that the last exploration had."""
    return _page(ask, _asked(_job(ask.desk)))


def _page(ask: Ask, wanted: Wanted, refused: str | None = None) -> Response:
    ask.desk.opened()
    return page(
        ask.desk, "explore.html", "Try settings on a stand-in", step="explore", status=400 if refused else 200,
        wanted=wanted, refused=refused, **_live(ask),
    )  # fmt: skip


def live(ask: Ask) -> Response:
    """The part of it that changes."""
    return part(ask.desk, "live.html", **_live(ask))


def start(ask: Ask) -> Response:
    """Begin; a wish that cannot be is refused on the page, with all that was typed."""
    given = Wanted(*(ask.form.get(one.name, "").strip()[:20] for one in fields(Wanted)))
    try:
        _begin(ask, given)
    except GridVeilError as error:
        return _page(ask, given, sentence(ask.desk, str(error)))
    return to(ask.desk, "explore")


def _begin(ask: Ask, given: Wanted) -> None:
    """The words that are given go to the command as they are, once they were understood."""
    desk, opened = ask.desk, ask.desk.opened()
    if (now := _job(desk)) is not None and now.running:
        raise GridVeilError("trials are under way; stop them first, or wait")
    gap, minutes = _number("the gap", given.gap), _number("minutes", given.minutes)
    goals(given.hide, given.cost, gap)
    if not 0 < minutes <= LONGEST:
        raise GridVeilError(f"give minutes between 0 and {LONGEST:g}")
    place = desk.jobs.prepare("exploration")
    arguments = [
        "advise", *_case(opened), "--hide", given.hide, "--keep-cost", given.cost, "--keep-gap", f"{gap:g}",
        "--minutes", f"{minutes:g}", "--out", str((place / TRIALS).relative_to(desk.folder.root)), *desk.ledger_options,
    ]  # fmt: skip
    desk.jobs.start(
        place, "advise", arguments,
        name=opened.name, digest=opened.digest, hide=given.hide, cost=given.cost, gap=gap, minutes=minutes,
    )  # fmt: skip


def stop(ask: Ask) -> Response:
    """Ask the job to end; its trials stay."""
    if (job := _job(ask.desk)) is not None:
        ask.desk.jobs.stop(job)
    return to(ask.desk, "explore")


def again(ask: Ask) -> Response:
    """Go on where it was: the same command with the same file of trials."""
    job = _job(ask.desk)
    if job is None:
        raise GridVeilError("nothing was begun that could go on")
    ask.desk.jobs.again(job)
    return to(ask.desk, "explore")


def take(ask: Ask) -> Response:
    """Take the settings of a line of the table to Protect."""
    found = _advice(ask.desk, ask.desk.opened(), _job(ask.desk))
    wanted = ask.form.get("choice", "")
    for line in found.lines if found is not None else ():
        if line.choice.words == wanted:
            ask.desk.lay(settings=Settings(line.choice))
            return to(ask.desk, "protect")
    raise GridVeilError("there is no such line in the table any more; look at it again")


def _live(ask: Ask) -> dict[str, Any]:
    desk, opened = ask.desk, ask.desk.opened()
    job = _job(desk)
    trouble, found = None, None
    try:
        found = _advice(desk, opened, job)
    except GridVeilError as error:
        trouble = sentence(desk, str(error))
    now = desk.lying().settings.choice.words
    said = [] if job is None else [sentence(desk, one) for one in job.said if one.strip() and not _progress(one)][-3:]
    rows = [] if found is None else found.lines[:SHOWN]
    return {
        "job": job, "found": found, "rows": rows, "said": said, "trouble": trouble, "now": now,
        "figure": Markup(figure(found)) if found is not None else "", "passed": _passed(job, found),
        "stand_in": _stand_ins(job),
    }  # fmt: skip


def _passed(job: Job | None, found: Advice | None) -> str:
    """How far it is, by its own file of trials and its own clock: what the command says of it comes twice a minute."""
    many = 0 if found is None else sum(line.outcome.trials for line in found.lines)
    trials = f"{many} {'trial' if many == 1 else 'trials'}"
    if job is None or not job.running:
        return trials if many else ""
    trials += " so far"
    left = 60 * float(job.about["minutes"]) - (time() - job.begun)
    if left <= 0:
        return f"{trials}, time is over, it is about to end"
    return f"{trials}, about {f'{left / 60:.1f} minutes' if left >= 60 else f'{left:.0f} s'} left"


def _progress(line: str) -> bool:
    """Is a line of the command one of what the page says better, since it knows it later?"""
    return re.match(r"\d+ trials in |trying on |a first table in ", line.strip()) is not None


def _asked(job: Job | None) -> Wanted:
    """What was typed for a job."""
    about = {} if job is None else job.about
    return Wanted(**{one.name: _text(about[one.name]) for one in fields(Wanted) if one.name in about})


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _job(desk: Desk) -> Job | None:
    """The last exploration of the network on the desk."""
    name = desk.lying().name
    return next((one for one in desk.jobs.all("advise") if one.about.get("name") == name), None)


def _advice(desk: Desk, opened: Opened, job: Job | None) -> Advice | None:
    """What the trials so far come to, as the command judges them."""
    if job is None:
        return None
    rows: dict[Choice, list[Row]] = {}
    for task, row in looked_into(job.place / TRIALS):
        rows.setdefault(task.choice, []).append({**row, STAND_IN: task.stand_in})
    if not rows:
        return None
    wanted = _goals(job)
    return judged(opened.title, opened.sealed, Explored(rows, 0.0, False), wanted, (), {}, desk.ledger())


def _goals(job: Job) -> Goals:
    return goals(job.about["hide"], job.about["cost"], job.about["gap"])


def _stand_ins(job: Job | None) -> str:
    """What is tried on, as the job said it at its beginning: to look for public networks takes it a while."""
    lines = job.said if job is not None else []
    return next((one.removeprefix("trying on ").strip() for one in lines if one.startswith("trying on ")), "")


def _case(opened: Opened) -> list[str]:
    """The case as an argument that cannot be taken for an option, nor a file for a shipped case."""
    return [opened.name if opened.shipped else f"./{opened.name}"]


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise GridVeilError(f"{name} must be a number, not '{text}'") from None
