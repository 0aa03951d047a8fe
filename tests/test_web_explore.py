"""The page Explore: how far trials are, by their own file and clock; what was typed; words that agree."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from time import time

import pytest

from gridveil import cases
from gridveil.advice.choice import Choice
from gridveil.web.exploring import TRIALS
from gridveil.web.jobs import Job
from gridveil.web.runner import COMMAND, ERR, EXIT, PID
from gridveil.web.started import started
from tests.workbench import Browser, workbench

GOOD = {
    "certified": True, "reactance_error_pct": 20.0, "cost_error_pct": 0.1, "gap_change_points": 0.2, "similarity": 80.0
}  # fmt: skip
STALE = "0 trials in 1 s, 5.0 minutes left"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copy(cases.path("case14") or "", tmp_path / "net.m")
    return tmp_path


def exploration(browser: Browser, choices: list[tuple[Choice, bool]], *, minutes: float, since: float) -> Job:
    """A job as a runner would have left it `since` seconds ago: its process is this one, its trials are invented."""
    place = browser.desk.jobs.prepare("exploration")
    about = {"name": "net.m", "digest": "", "hide": "12%", "cost": "2%", "gap": 0.5, "minutes": minutes}
    told = {"kind": "advise", "arguments": [], "folder": str(browser.desk.folder.root), "about": about}
    (place / COMMAND).write_text(json.dumps(told))
    (place / PID).write_text(json.dumps({"pid": os.getpid(), "started": started(os.getpid())}))
    (place / ERR).write_text(f"trying on the public network case30\na first table in about 0.1 minutes\n{STALE}\n")
    lines = ["{}"]
    for choice, good in choices:
        row = GOOD if good else {"certified": False}
        lines.append(json.dumps({"task": [list(asdict(choice).values()), 0, 0, True], "row": row}))
    (place / TRIALS).write_text("\n".join(lines) + "\n")
    os.utime(place / COMMAND, (time() - since, time() - since))
    job = browser.desk.jobs.find(place.name)
    assert job is not None and job.running
    return job


def settings(many: int) -> list[tuple[Choice, bool]]:
    return [(Choice("L", 0.01 * (k + 1), 1.0, 0.01), True) for k in range(many)]


def test_how_far_it_is_follows_its_own_trials_and_clock(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        job = exploration(browser, settings(7), minutes=5.0, since=100.0)
        said = browser.get("/explore/live").words
        assert "7 trials so far, about 3.3 minutes left" in said and STALE not in said
        os.utime(job.place / COMMAND, (time() - 270, time() - 270))
        assert re.search(r"about (29|30) s left", browser.get("/explore/live").words)
        os.utime(job.place / COMMAND, (time() - 302, time() - 302))
        assert "time is over" in browser.get("/explore/live").words
        (job.place / EXIT).write_text('{"code": 0}')
        said = browser.get("/explore/live").words
        assert "Finished : 7 trials Stand-in" in said and " left " not in said.partition("settings so far")[0]
        assert said.count("the public network case30") == 1 and "first table" not in said


def test_two_counts_of_settings_agree(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        exploration(browser, [*settings(4), (Choice("L", 0.5, 0.1, 0.01), False)], minutes=5.0, since=1.0)
        said = browser.get("/explore/live").words
        assert "5 settings so far" in said and re.search(r"\d of 5 settings tried meet all \(1 beyond", said)
        assert "Similarity : of the lines that an attacker" in said and "Least margin" in said


def test_what_was_typed_stays(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        wrong = browser.post("/explore", None, hide="33%", cost="3%", gap="0.7", minutes="nine <b>")
        assert wrong.status == 400 and "minutes must be a number" in wrong.words.lower()
        for value in ("33%", "3%", "0.7", "nine &lt;b&gt;"):
            assert f'value="{value}"' in wrong.text
        assert not browser.desk.jobs.all("advise")
        exploration(browser, settings(1), minutes=4.0, since=1.0)
        page = browser.get("/explore").text
        for value in ("12%", "2%", "0.5", "4"):
            assert f'value="{value}"' in page
