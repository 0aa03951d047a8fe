"""The server: a socket on loopback, the address with the token, a browser that is shown it."""

from __future__ import annotations

import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from threading import Thread

import uvicorn

from gridveil.errors import GridVeilError
from gridveil.web.app import make_app
from gridveil.web.desk import Desk
from gridveil.web.guard import Guard
from gridveil.web.security import Session

LOOPBACK = "127.0.0.1"


def serve(
    root: Path,
    *,
    port: int = 0,
    ledger: Path | None = None,
    case: str | None = None,
    browse: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the folder until somebody ends it. Jobs go on without it."""
    with listening(port) as listener:
        session = Session.new(listener.getsockname()[1])
        desk = Desk(root, session, ledger)
        if case is not None:
            name = os.path.relpath(case, desk.folder.root) if Path(case).is_absolute() else case
            desk.lay(name=desk.reader.read(name).name)
        app = make_app(desk)
        say(session.address)
        shown = show(desk) if browse else None
        try:
            server(app).run(sockets=[listener])
        finally:
            if shown is not None:
                shown.unlink(missing_ok=True)


def listening(port: int) -> socket.socket:
    """A socket of this machine alone; port 0 takes a free one.

    The protocol is named: asyncio sends at once (TCP_NODELAY) only over sockets that say they are TCP, and over others
    every answer of two packets waits 40 ms for a word of the browser.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise GridVeilError(f"port {port} cannot be listened to ({error}); give another, or 0 for a free one") from None
    return listener


def server(app: Guard) -> uvicorn.Server:
    """The server: no log of addresses, which have tokens, nor of what its end breaks off; no headers of proxies, of
    which there are none."""
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, proxy_headers=False, lifespan="off",
        ws="none", loop="asyncio", http="h11", limit_concurrency=200, h11_max_incomplete_event_size=32 * 2**10,
        timeout_keep_alive=10, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return uvicorn.Server(config)


def show(desk: Desk) -> Path:
    """Open the browser by a file that only its owner can read: an address among a program's arguments is seen by all
    who may list processes."""
    with tempfile.NamedTemporaryFile("w", prefix="open-", suffix=".html", dir=desk.folder.home, delete=False) as file:
        address = escape(desk.session.address)
        file.write(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>GridVeil</title>'
            f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={address}">'
            f'</head><body><p><a href="{address}">Open the workbench</a></p></body></html>'
        )
    path = Path(file.name)
    Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
    return path
