"""Requests that nobody would send: bent, torn, wrong, oversized, with and without the cookie and its tokens."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from urllib.parse import quote

from gridveil.web.app import ACTIONS, PAGES
from workbench_server import FIELD, Served

GARBAGE = (
    "", "x", "-1", "nan", "1e999", "10" * 400, "<script>alert(1)</script>", "../../etc/passwd", "%00", "\x00", "ε" * 50,
    "'; DROP TABLE head; --", "{{7*7}}", "NaN", "1,5", "0x10", "٣",
)  # fmt: skip
PATHS = (
    "/..%2f..%2fetc/passwd", "/static/../app.py", "/%00", "/" + "a" * 9000, "//evil.example/", "/result/bundle.zip/..",
    "/%ff%fe", "/?token=x", "*", "http://evil.example/",
)  # fmt: skip
HEADS = (
    "Host: evil.example", "Content-Length: 9\r\nContent-Length: 8", "Content-Length: -1", f"Content-Length: {9**40}",
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Cookie: " + "a=b; " * 3000, "X-Form: é",
    "Expect: 100-continue", "Origin: null", "Sec-Fetch-Site: cross-site", "Upgrade: websocket", "Range: bytes=0-",
    "\x00: x", ": x",
)  # fmt: skip
FIELDS = (
    "nonce", "seal", "name", "key", "meant", "file", "choice", "alpha", "epsilon", "beta", "mechanism", "cost",
    "totals", "group-L", "group-R", "alpha-R", "hide", "gap", "minutes",
)  # fmt: skip
FORMS = {"/": "/pick", "/protect": "/protect", "/explore": "/explore", "/signoff": "/signoff", "/review": "/review"}
"""Pages, and the action of the form that each has."""


PATIENCE = 0.5
"""Seconds within which an answer comes, if one comes."""


def tokens(served: Served) -> dict[str, str]:
    """The tokens of forms that pages have: what is sent with them gets further."""
    found = dict[str, str]()
    for page, action in FORMS.items():
        fields = dict(FIELD.findall(served.ask(page).text.partition("<main")[2]))
        found[action] = fields.get("form", "")
    for page, action in (("/", "/upload"), ("/protect", "/protect/words")):
        found[action] = served.ask(page).text.partition('data-token="')[2].partition('"')[0]
    return found


def one(rng: random.Random, served: Served, known: dict[str, str]) -> bytes:
    """A request; none of them can be a confirmation, as none has typed the name."""
    base = served.session.base
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400))
    cookie = f"Cookie: {served.headers['Cookie']}" if rng.random() < 0.8 else "Cookie: gridveil=1"
    origin = f"Origin: http://127.0.0.1:{served.session.port}"
    host = f"Host: 127.0.0.1:{served.session.port}"
    kept = [host, cookie, "Connection: close"]
    if kind == 1:
        method = rng.choice(("GET", "POST", "PUT", "get", "GET GET", "", "OPTIONS", "\x7f"))
        return _lines(f"{method} {base}{rng.choice(PATHS)} HTTP/{rng.choice(('1.1', '1.0', '9', 'x'))}", kept)
    if kind == 2:
        return _lines(f"GET {base}{rng.choice([*PAGES, *PATHS])} HTTP/1.1", [*kept, rng.choice(HEADS)])
    if kind == 3:
        page, garbage = rng.choice([*PAGES]), quote(rng.choice(GARBAGE), safe="")
        return _lines(f"GET {base}{page}?{rng.choice(FIELDS)}={garbage} HTTP/1.1", kept)
    action = rng.choice([*ACTIONS])
    body = "&".join(f"{name}={quote(rng.choice(GARBAGE), safe='')}" for name in rng.sample(FIELDS, rng.randrange(1, 9)))
    if kind == 7:
        bytes_ = rng.randbytes(rng.randrange(0, 300))
        given, named = (quote(rng.choice((*GARBAGE, known))) for known in (known["/upload"], "x.m"))
        heads = [*kept, origin, f"X-Form: {given}", f"X-Name: {named}", f"Content-Length: {len(bytes_)}"]
        return _lines(f"POST {base}/upload?kind={rng.choice(('case', 'bundle', 'x'))} HTTP/1.1", heads) + bytes_
    token = known.get(action, "") if rng.random() < 0.7 else rng.choice(GARBAGE)
    content = f"form={quote(token)}&{body}".encode()
    if rng.random() < 0.3:
        content = bytes(rng.randrange(256) if rng.random() < 0.1 else byte for byte in content)
    size = len(content) + (rng.randrange(-20, 20) if rng.random() < 0.2 else 0)
    heads = [*kept, origin, "Content-Type: application/x-www-form-urlencoded", f"Content-Length: {size}"]
    if rng.random() < 0.2:
        heads.append(rng.choice(HEADS))
    whole = _lines(f"POST {base}{action} HTTP/1.1", heads) + content
    return whole[: rng.randrange(1, len(whole))] if kind == 6 else whole


def _lines(first: str, heads: list[str]) -> bytes:
    return ("\r\n".join([first, *heads]) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def sent(served: Served, data: bytes) -> bytes:
    """What the server says to it; to what has no end it says nothing, and waits for more."""
    found = b""
    try:
        with socket.create_connection(("127.0.0.1", served.session.port), timeout=PATIENCE) as line:
            line.sendall(data)
            while chunk := line.recv(65536):
                found += chunk
    except OSError:
        pass
    return found


def faults(answer: bytes, folder: Path) -> list[str]:
    """What an answer tells that it must not."""
    secrets = {
        "a path": str(folder).encode(), "a home": f"{Path.home()}/".encode(), "a traceback": b"Traceback",
        "a source": b'File "',
    }  # fmt: skip
    return [name for name, words in secrets.items() if words in answer]
