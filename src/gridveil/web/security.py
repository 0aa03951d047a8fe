"""Who may talk to the workbench: a browser on this machine that was given the address by its owner, and no page of
anybody else that this browser happens to have open.

Everything is refused here before a page is asked: a wrong Host (names that were made to lead here), another Origin, no
cookie, bodies beyond their size. What leaves gets its headers here, so that no page can forget them.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

METHODS = ("GET", "HEAD", "POST")
MOST_FORM = 64 * 2**10
MOST_UPLOAD = 256 * 10**6
"""Bytes; what a grid of a continent takes as text."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    # not no-referrer: a form sent under it says "Origin: null", and Origin is what tells our pages from others
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""Of every answer; one that has such a header already keeps its own."""
OURS = ("same-origin", "none")
"""What Sec-Fetch-Site may say: a page of ours, or the address bar. Another port of this machine is `same-site`."""


@dataclass(frozen=True)
class Session:
    """The secrets of one run of the server. `room` is the folder of all addresses: browsers send cookies to every port
    of this machine, but only below their path, which other servers on it do not know."""

    port: int
    token: str = field(repr=False)
    cookie: str = field(repr=False)
    secret: bytes = field(repr=False)
    room: str = field(repr=False)

    @staticmethod
    def new(port: int) -> Session:
        """Fresh ones."""
        return Session(
            port,
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            secrets.token_bytes(32),
            secrets.token_hex(8),
        )

    @property
    def hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """What the owner is given."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def base(self) -> str:
        return f"/{self.room}"

    @property
    def cookie_name(self) -> str:
        return f"gridveil-{self.port}"

    @property
    def set_cookie(self) -> str:
        return f"{self.cookie_name}={self.cookie}; Path={self.base}; HttpOnly; SameSite=Strict"

    def form_token(self, action: str) -> str:
        """What a form to this action has to bring: only pages of ours know it."""
        return hmac.new(self.secret, action.encode(), sha256).hexdigest()

    def is_form_token(self, action: str, given: str) -> bool:
        return same(given, self.form_token(action))


@dataclass(frozen=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    sentence: str


Headers = Iterable[tuple[bytes, bytes]]


def same(one: str, other: str) -> bool:
    """Are these equal? It takes as long whatever the answer is."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def values(headers: Headers, name: str) -> list[str]:
    """All headers of a name."""
    wanted = name.lower().encode()
    return [value.decode("latin-1") for key, value in headers if key.lower() == wanted]


def refusal(session: Session, method: str, path: str, headers: Headers) -> Refusal | None:
    """Why a request is refused that is not the first one with the token; `None` if it is not."""
    found = list(headers)
    if bad := wrong_place(session, method, found):
        return bad
    if any(one not in OURS for one in values(found, "sec-fetch-site")):
        return Refusal(403, "This page was asked for by a page of another site, and is not given.")
    if method == "POST" and values(found, "origin") not in [[f"http://{one}"] for one in values(found, "host")]:
        return Refusal(403, "This was not sent by a page of the workbench, and nothing was done.")
    if not _known(session, found):
        return Refusal(403, "Open the address that the command 'gridveil workbench' printed: it has the key to this.")
    return too_large(path, found)


def wrong_place(session: Session, method: str, headers: Headers) -> Refusal | None:
    """What is refused of every request, the first one too."""
    hosts = values(headers, "host")
    if len(hosts) != 1 or hosts[0] not in session.hosts:
        return Refusal(400, "The workbench answers under 127.0.0.1 and localhost only.")
    if method not in METHODS:
        return Refusal(405, "The workbench knows GET and POST.")
    return None


def has_token(session: Session, query: bytes) -> bool | None:
    """Does the first address have the right token? `None` if it has none."""
    try:
        given = parse_qs(query.decode("latin-1"), max_num_fields=10).get("token", [])
    except ValueError:
        return False
    return None if not given else len(given) == 1 and same(given[0], session.token)


def _known(session: Session, headers: Headers) -> bool:
    found = False
    for text in values(headers, "cookie"):
        jar = SimpleCookie()
        try:
            jar.load(text)
        except CookieError:
            continue
        if session.cookie_name in jar:
            found |= same(jar[session.cookie_name].value, session.cookie)
    return found


def most(path: str) -> int:
    """How many bytes a request to this path may have."""
    return MOST_UPLOAD if path.endswith("/upload") else MOST_FORM


def too_large(path: str, headers: Headers) -> Refusal | None:
    """By what a request says of itself; what comes is counted, too."""
    lengths = values(headers, "content-length")
    if len(lengths) > 1 or not all(one.isascii() and one.isdigit() for one in lengths):
        return Refusal(400, "The request does not say how long it is.")
    if lengths and (len(lengths[0]) > 15 or int(lengths[0]) > most(path)):
        return Refusal(413, f"That is too large: {most(path):,} bytes are taken.")
    return None
