"""The one door: an application around the application that refuses, counts bytes, adds headers, and hides failures."""

from __future__ import annotations

import sys
from html import escape

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridveil.errors import unforeseen
from gridveil.web.security import HEADERS, Refusal, Session, has_token, most, refusal, values, wrong_place

FAILED = "Something failed that is not your doing. The window in which the workbench runs says where."

HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>GridVeil</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
)


class TooLarge(Exception):
    """More came than was announced or is taken."""


class Guard:
    """Around all pages."""

    def __init__(self, app: ASGIApp, session: Session) -> None:
        self.app, self.session = app, session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_headers(message.get("headers", ()))}
            await send(message)

        path, headers, method = scope["path"], list(scope["headers"]), scope["method"]
        token = has_token(self.session, scope["query_string"]) if path == "/" and method == "GET" else None
        if token is not None:
            bad = wrong_place(self.session, method, headers)
            if bad is None and not token:
                bad = Refusal(403, "This address has an old key: open the one that the command printed last.")
            if bad is None:
                await _first(told, self.session)
                return
        else:
            bad = refusal(self.session, method, path, headers)
        if bad is not None:
            await answer(told, bad.status, bad.sentence)
            return
        try:
            await self.app(scope, _counted(receive, most(path)), told)
        except TooLarge:
            if not begun:
                await answer(told, 413, f"That is too large: {most(path):,} bytes are taken.")
        except ClientDisconnect:  # whoever asked has gone
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, no browser is told
            print(f"workbench: {unforeseen(error)}", file=sys.stderr)  # noqa: T201
            if not begun:
                await answer(told, 500, FAILED)


def _counted(receive: Receive, limit: int) -> Receive:
    came = 0

    async def counted() -> Message:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > limit:
            raise TooLarge
        return message

    return counted


def _with_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    own = list(headers)
    return own + [(name.lower().encode(), text.encode()) for name, text in HEADERS.items() if not values(own, name)]


async def _first(send: Send, session: Session) -> None:
    """The cookie, and a page that goes on to an address without the token. No redirect: a strict cookie is not sent
    along one that began elsewhere, in a terminal or a file."""
    begin = f"{session.base}/"
    page = (
        f'{HEAD}<meta http-equiv="refresh" content="0; url={begin}"></head>'
        f'<body><p><a href="{begin}">Go on to the workbench</a></p></body></html>'
    )
    await _send(send, 200, page, [(b"set-cookie", session.set_cookie.encode())])


async def answer(send: Send, status: int, sentence: str) -> None:
    """A sentence as a page."""
    page = f"{HEAD}</head><body><main><h1>Not here</h1><p>{escape(sentence)}</p></main></body></html>"
    await _send(send, status, page, [(b"connection", b"close")] if status == 413 else [])


async def _send(send: Send, status: int, page: str, more: list[tuple[bytes, bytes]]) -> None:
    body = page.encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
