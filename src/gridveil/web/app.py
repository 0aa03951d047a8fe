"""All addresses of the workbench, behind its one door."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from gridveil.report.maps.html import map_script, map_style
from gridveil.report.maps.pair import pair_style
from gridveil.web import choosing, comparing, exploring, opening, releasing, results
from gridveil.web.asked import Handler, endpoint, failed
from gridveil.web.desk import Desk
from gridveil.web.files import NotHere
from gridveil.web.guard import Guard

PAGES: dict[str, Handler] = {
    "/": opening.show,
    "/protect": choosing.show,
    "/budget": choosing.budget,
    "/explore": exploring.show,
    "/explore/live": exploring.live,
    "/signoff": releasing.signoff,
    "/release": releasing.show,
    "/release/live": releasing.live,
    "/result": results.show,
    "/result/live": results.live,
    "/result/dispatch/live": comparing.live,
    "/result/bundle": results.public,
    "/result/bundle.zip": results.download,
    "/result/report": results.report,
    "/result/leaks": results.internal,
    "/review": results.review,
    "/review/live": results.verdict,
}
ACTIONS: dict[str, Handler] = {
    "/pick": opening.pick,
    "/protect": choosing.save,
    "/protect/words": choosing.words,
    "/explore": exploring.start,
    "/explore/stop": exploring.stop,
    "/explore/again": exploring.again,
    "/explore/take": exploring.take,
    "/signoff": releasing.confirm,
    "/release/stop": releasing.stop,
    "/result/check": results.check,
    "/result/dispatch": comparing.begin,
    "/review": results.verify,
}
"""What is done, each by a form that a page made for it. A charge comes of one of them alone: /signoff."""


def make_app(desk: Desk) -> Guard:
    """The application."""
    base = desk.session.base

    def routes(table: dict[str, Handler], method: str) -> list[Route]:
        return [Route(base + path, endpoint(desk, handler), methods=[method]) for path, handler in table.items()]

    async def upload(request: Request) -> Response:
        return await opening.upload(desk, request)

    every = [
        *routes(PAGES, "GET"),
        *routes(ACTIONS, "POST"),
        Route(f"{base}/upload", upload, methods=["POST"]),
        *(Route(f"{base}/static/{name}", _static(name), methods=["GET"]) for name in STATIC),
    ]
    return Guard(Router(every, redirect_slashes=False, default=_missing(desk)), desk.session)


def _missing(desk: Desk) -> ASGIApp:
    async def missing(scope: Scope, receive: Receive, send: Send) -> None:
        answer = failed(desk, NotHere("there is no such page; choose one of those above"))
        await answer(scope, receive, send)

    return missing


def _asset(name: str) -> str:
    return (files("gridveil.web") / "static" / name).read_text(encoding="utf-8")


STATIC: dict[str, tuple[str, Callable[[], str]]] = {
    "workbench.css": ("text/css", lambda: _asset("workbench.css")),
    "workbench.js": ("text/javascript", lambda: _asset("workbench.js")),
    "map.css": ("text/css", map_style),
    "pair.css": ("text/css", pair_style),
    "map.js": ("text/javascript", map_script),
}
"""Files that pages load, all from here."""


@cache
def _content(name: str) -> bytes:
    return STATIC[name][1]().encode()


def _static(name: str) -> Callable[[Request], Any]:
    async def static(request: Request) -> Response:
        return Response(_content(name), media_type=STATIC[name][0], headers={"Cache-Control": "private, max-age=3600"})

    return static
