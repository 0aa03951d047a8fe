"""The workbench as its browser sees it: a real server on loopback, asked over sockets, with or without a cookie."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from urllib.parse import urlencode

from gridveil.web.app import make_app
from gridveil.web.desk import Desk
from gridveil.web.security import Session
from gridveil.web.serve import listening, server


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", self.text))


@dataclass
class Browser:
    """Asks as a browser does; `cookie` and `origin` may be left out or be wrong."""

    desk: Desk

    @property
    def session(self) -> Session:
        return self.desk.session

    @property
    def cookie(self) -> str:
        return f"{self.session.cookie_name}={self.session.cookie}"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.session.port}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """With cookie and origin, unless the headers have others; `None` leaves one out."""
        given: dict[str, str | None] = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            given["Origin"] = self.origin
        given |= headers or {}
        connection = HTTPConnection("127.0.0.1", self.session.port, timeout=60)
        try:
            connection.request(method, path, body, {name: text for name, text in given.items() if text is not None})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, page: str, **headers: str | None) -> Answer:
        return self.ask("GET", self.session.base + page, headers=headers)

    def post(self, page: str, headers: Mapping[str, str | None] | None = None, **form: str) -> Answer:
        """A form with the right token, unless it brings one."""
        fields = {"form": self.session.form_token(page), **form}
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", self.session.base + page, urlencode(fields).encode(), {**kind, **(headers or {})})

    def raw(self, data: bytes, *, seconds: float = 10.0, hang_up: bool = False) -> bytes:
        """Whatever bytes, and what the server says to them before it closes, or so long."""
        with socket.create_connection(("127.0.0.1", self.session.port), timeout=seconds) as line:
            line.sendall(data)
            if hang_up:
                line.shutdown(socket.SHUT_WR)
            found = b""
            try:
                while chunk := line.recv(65536):
                    found += chunk
            except OSError:
                pass
            return found

    def wait(self, part: str, seconds: float = 120.0) -> Answer:
        """Until nothing runs any more."""
        end = monotonic() + seconds
        while True:
            answer = self.get(part)
            if "data-running" not in answer.text:
                return answer
            assert monotonic() < end, answer.words
            sleep(0.2)


@contextmanager
def workbench(root: Path, ledger: Path | None = None) -> Iterator[Browser]:
    """A server of its own for a folder, that ends with the block."""
    listener = listening(0)
    desk = Desk(root, Session.new(listener.getsockname()[1]), ledger or root / "ledger.db")
    made = server(make_app(desk))
    thread = Thread(target=made.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not made.started:
        sleep(0.01)
    try:
        yield Browser(desk)
    finally:
        made.should_exit = True
        thread.join(10)
        listener.close()


def field_of(page: Answer, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, page.words
    return found[1]
