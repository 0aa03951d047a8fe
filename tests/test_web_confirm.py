"""Confirmations and answers that come close together: one is done at a time, and none waits for a timer."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from gridveil import cases
from gridveil.web import jobs
from gridveil.web.jobs import Jobs
from gridveil.web.runner import COMMAND
from gridveil.web.serve import listening
from tests.workbench import Answer, Browser, field_of, workbench


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copy(cases.path("case14") or "", tmp_path / "net.m")
    return tmp_path


def confirmed(browser: Browser) -> dict[str, str]:
    """What a page Sign off sends back, of its own nonce."""
    page = browser.get("/signoff")
    return {"nonce": field_of(page, "nonce"), "seal": field_of(page, "seal"), "name": "case14_ieee"}


def test_the_socket_says_that_it_is_tcp() -> None:
    with listening(0) as one:
        assert one.proto == socket.IPPROTO_TCP


def test_answers_on_one_connection_do_not_wait(root: Path) -> None:
    """With Nagle's algorithm each would wait 40 ms for an acknowledgement: 4 s and more."""
    with workbench(root) as browser, closing(_line(browser)) as line:
        begin = monotonic()
        for _ in range(100):
            line.request("GET", f"{browser.session.base}/static/workbench.js", headers={"Cookie": browser.cookie})
            answer = line.getresponse()
            assert answer.status == 200 and answer.read()
        assert monotonic() - begin < 1.0


def _line(browser: Browser) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", browser.session.port, timeout=30)


def test_of_two_tabs_that_confirm_at_once_one_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a confirmation of its own, and each page said what the ledger would be after it alone."""
    begun = list[str]()

    def start(self: Jobs, place: Path, kind: str, arguments: list[str], **about: Any) -> None:
        sleep(0.3)  # a process takes a while to begin, and other requests come meanwhile
        begun.append(place.name)
        told = {"kind": kind, "arguments": arguments, "folder": str(self.folder), "about": about}
        (place / COMMAND).write_text(json.dumps(told))

    monkeypatch.setattr(Jobs, "start", start)
    monkeypatch.setattr(jobs, "GRACE", 300.0)
    with workbench(root) as first, workbench(root) as second:  # another server in the folder knows no lock in memory
        first.desk.lay(name="net.m")
        tabs = [(one, confirmed(one)) for one in (first, first, second, second)]
        answers, ready = list[Answer](), Barrier(len(tabs))

        def press(browser: Browser, given: dict[str, str]) -> None:
            ready.wait()
            answers.append(browser.post("/signoff", None, **given))

        presses = [Thread(target=press, args=one) for one in tabs]
        for one in presses:
            one.start()
        for one in presses:
            one.join()
    assert len(begun) == 1 and sorted(one.status for one in answers) == [303, 400, 400, 400]
    refused = [one.words for one in answers if one.status == 400]
    assert all("a release is running already" in one.lower() and "Nothing was charged" in one for one in refused)
