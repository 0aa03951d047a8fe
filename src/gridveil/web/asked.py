"""From a request to a page: forms are read and their tokens checked, errors become sentences, pages are filled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gridveil.errors import GridVeilError
from gridveil.web.desk import Desk
from gridveil.web.files import NotHere

STEPS = (
    ("", "Open"), ("protect", "Protect"), ("explore", "Explore"), ("budget", "Budget"), ("signoff", "Sign off"),
    ("release", "Release"), ("result", "Result"), ("review", "Review"),
)  # fmt: skip
"""Pages in their order: address and name."""
FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 60


class Unasked(GridVeilError):
    """A form that no page of ours made."""


@dataclass(frozen=True)
class Ask:
    """What a page is asked: its desk, what was filled in, and what follows the question mark."""

    desk: Desk
    form: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Ask], Response]


def endpoint(desk: Desk, handler: Handler) -> Callable[[Request], Any]:
    """A handler as the server calls it, in a thread of its own."""

    async def called(request: Request) -> Response:
        try:
            form = await read_form(desk, request) if request.method == "POST" else {}
            return await run_in_threadpool(handler, Ask(desk, form, dict(request.query_params)))
        except GridVeilError as error:
            return failed(desk, error, fragment="x-fragment" in request.headers)

    return called


async def read_form(desk: Desk, request: Request) -> dict[str, str]:
    """The fields of a form that a page of ours has made for this very address."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != FORM:
        raise Unasked("this is no form of the workbench; nothing was done")
    body = await request.body()
    try:
        form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise Unasked("this is no form of the workbench; nothing was done") from None
    require_token(desk, request, form.pop("form", ""))
    return form


def require_token(desk: Desk, request: Request, given: str) -> None:
    """Was it made by a page of this run of the server, for this address?"""
    action = request.url.path.removeprefix(desk.session.base)
    if not desk.session.is_form_token(action, given):
        raise Unasked("this form is not of this run of the workbench; open its page again. Nothing was done")


def failed(desk: Desk, error: GridVeilError, *, fragment: bool = False) -> Response:
    """An error as a sentence."""
    status = 403 if isinstance(error, Unasked) else 404 if isinstance(error, NotHere) else 400
    words = sentence(desk, str(error))
    if fragment:
        return HTMLResponse(template("trouble.html").render(words=words), status)
    return page(desk, "failed.html", "That did not work", step=None, status=status, words=words)


def sentence(desk: Desk, text: str) -> str:
    """Words without a path of this machine, such as errors have."""
    text = text.replace(f"{desk.folder.root}/", "")
    text = re.sub(r"(?<![\w.<])(?:[A-Za-z]:)?(?:[/\\][^\s/\\:'\",;()<>]+)+[/\\]", "…/", text)
    return text[0].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text  # not of a file's name, nor of α


def page(
    desk: Desk, name: str, title: str, *, step: str | None, public: bool = False, status: int = 200, **values: Any
) -> Response:
    """A page, INTERNAL unless it is made of public things alone."""
    session, lying = desk.session, desk.lying()
    text = template(name).render(
        title=title, base=session.base, steps=STEPS, step=step, public=public, desk=desk,
        lying=lying, form=lambda action: session.form_token(f"/{action}"), **values,
    )  # fmt: skip
    return HTMLResponse(text, status)


def part(desk: Desk, name: str, **values: Any) -> Response:
    """A part of a page, for one that is open."""
    session = desk.session
    text = template(name).render(base=session.base, form=lambda action: session.form_token(f"/{action}"), **values)
    return HTMLResponse(text)


def to(desk: Desk, step: str) -> Response:
    """On to another page, after something was done."""
    return RedirectResponse(f"{desk.session.base}/{step}", 303)


@cache
def _environment() -> Environment:
    def load(name: str) -> str:
        return (files("gridveil.web") / "pages" / name).read_text(encoding="utf-8")

    return Environment(
        loader=FunctionLoader(load), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def template(name: str) -> Any:
    """One of this room's templates; everything is escaped unless it is marked as safe by our own code."""
    return _environment().get_template(name)
