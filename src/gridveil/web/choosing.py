"""Protect and Budget: what is chosen, what it means, and what it leaves of the budget."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from gridveil.errors import GridVeilError
from gridveil.privacy.refusal import reach_words
from gridveil.web.accounts import nearest
from gridveil.web.asked import Ask, page, part, sentence, to
from gridveil.web.settings import SOURCES, from_form, group_names, in_words, looked


def show(ask: Ask) -> Response:
    """The page Protect."""
    desk = ask.desk
    desk.opened()
    settings = desk.lying().settings
    return page(
        desk, "protect.html", "What is protected, and how much", step="protect", values=settings.values,
        own=settings.own, groups=group_names(), sources=SOURCES, **_words(ask, None),
    )  # fmt: skip


def words(ask: Ask) -> Response:
    """The part of it that changes as settings do."""
    return part(ask.desk, "words.html", **_words(ask, ask.form))


def save(ask: Ask) -> Response:
    """Keep the settings; those that cannot be are refused in words."""
    settings, opened = from_form(ask.form), ask.desk.opened()
    settings.plan(opened)
    ask.desk.lay(settings=settings)
    return to(ask.desk, "budget" if ask.form.get("next") == "budget" else "protect")


def _words(ask: Ask, form: object) -> dict[str, Any]:
    desk = ask.desk
    try:
        settings = desk.lying().settings if form is None else from_form(ask.form)
        opened = desk.opened()
        plan, seen = looked(opened, settings, desk.ledger())
    except GridVeilError as error:
        return {"trouble": sentence(desk, str(error)), "seen": None, "meaning": [], "settings": None}
    return {"trouble": None, "seen": seen, "meaning": in_words(opened, settings, plan), "settings": settings}


def budget(ask: Ask) -> Response:
    """The page Budget."""
    desk, opened = ask.desk, ask.desk.opened()
    settings, ledger = desk.lying().settings, ask.desk.ledger()
    _, seen = looked(opened, settings, ledger)
    return page(
        desk, "budget.html", "What it costs, and what is left", step="budget", seen=seen, settings=settings,
        opened=opened, is_new=ledger is None, rows=nearest(opened.sealed.structure, seen, ledger),
        within=reach_words(seen.after.within) if seen.after.within else "",
    )  # fmt: skip
