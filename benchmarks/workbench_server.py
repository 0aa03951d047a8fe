"""The command `gridveil workbench` as a benchmark asks it: a process of its own in a folder of its own, on loopback."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlencode

from gridveil.web.security import Session

FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


class Reply(NamedTuple):
    """What came back."""

    status: int
    text: str


class Served:
    """One run of the command, which ends with the `with`; `seconds` are those until it printed its address."""

    def __init__(self, folder: Path, case: str | None = None) -> None:
        self.folder, self.case = folder, case

    def __enter__(self) -> Served:
        begin = perf_counter()
        self.errors = (self.folder / "errors.txt").open("ab")
        named = [] if self.case is None else [self.case]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gridveil", "workbench", *named, "--no-browser", "--ledger", "ledger.db"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        self.seconds = perf_counter() - begin
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", address)
        if found is None:
            raise SystemExit(f"the workbench did not start: {(self.folder / 'errors.txt').read_text()[-400:]}")
        port, token = int(found[1]), found[2]
        line = HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("GET", f"/?token={token}")
        answer = line.getresponse()
        answer.read()
        line.close()
        given = re.fullmatch(r"[^=]+=([^;]+); Path=/([^;]+); .*", answer.headers["Set-Cookie"] or "")
        assert given is not None
        self.session = Session(port, token, given[1], b"", given[2])
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.errors.close()
        if self.process.stdout is not None:
            self.process.stdout.close()

    @property
    def headers(self) -> dict[str, str]:
        """What a browser sends with every request."""
        session = self.session
        return {"Cookie": f"{session.cookie_name}={session.cookie}", "Sec-Fetch-Site": "same-origin"}

    def line(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.session.port, timeout=60)

    def ask(self, path: str, form: Mapping[str, str] | None = None, line: HTTPConnection | None = None) -> Reply:
        """A page, or a form that is sent."""
        own = line or self.line()
        headers, body = self.headers, None
        if form is not None:
            headers |= {
                "Origin": f"http://127.0.0.1:{self.session.port}", "Content-Type": "application/x-www-form-urlencoded"
            }  # fmt: skip
            body = urlencode(form).encode()
        own.request("POST" if form is not None else "GET", self.session.base + path, body, headers)
        answer = own.getresponse()
        text = answer.read().decode("utf-8", "replace")
        if line is None:
            own.close()
        return Reply(answer.status, text)

    def confirmation(self, name: str) -> dict[str, str]:
        """What the page Sign off sends back, once its owner has typed a name."""
        page = self.ask("/signoff").text
        fields = dict(FIELD.findall(page.partition("<main")[2]))
        return {one: fields[one] for one in ("form", "nonce", "seal")} | {"name": name, "meant": "yes"}

    def processor(self) -> float:
        """Seconds of processor time so far, where the system tells."""
        try:
            after = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(after[11]) + int(after[12])) / 100
