"""The whole path, from a file to a signed bundle, and jobs that nothing but a signal ends."""

from __future__ import annotations

import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep, time
from typing import Any

import pytest
from typer.testing import CliRunner

from gridveil import cases
from gridveil.advice.choice import Choice
from gridveil.cli.main import app
from gridveil.errors import GridVeilError
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.signature import create_key
from gridveil.report.verification import verify
from gridveil.web.jobs import Job, Jobs, State
from gridveil.web.runner import COMMAND, EXIT, PID
from gridveil.web.settings import Settings, from_form, looked
from gridveil.web.started import started
from tests.workbench import Browser, field_of, workbench

CHOSEN = {
    "group-L": "1",
    "alpha": "10",
    "epsilon": "1",
    "beta": "1",
    "mechanism": "log",
    "cost": "private",
    "totals": "private",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copy(cases.path("case14") or "", tmp_path / "net.m")
    return tmp_path


def _confirmed(browser: Browser, **more: str) -> dict[str, str]:
    page = browser.get("/signoff")
    return {"nonce": field_of(page, "nonce"), "seal": field_of(page, "seal"), "name": "case14_ieee", **more}


@pytest.mark.real_noise
def test_from_a_file_to_a_signed_bundle(root: Path) -> None:
    create_key(root / "ours.key")
    text = (root / "net.m").read_bytes()
    (root / "net.m").unlink()
    ledger = root / "ledger.db"
    with workbench(root, ledger) as browser:
        given = {"X-Name": "net.m", "X-Form": browser.session.form_token("/upload")}
        came = browser.ask("POST", browser.session.base + "/upload?kind=case", text, given)
        assert came.status == 200
        assert browser.post("/pick", file=json.loads(came.text)["id"]).status == 303
        assert "259 MW" in browser.get("/").words
        assert browser.post("/protect", None, **CHOSEN, next="budget").headers["Location"].endswith("/budget")
        assert "corridor 1–2" in browser.get("/budget").words
        assert not Ledger.exists(ledger)  # to look makes none
        page = browser.get("/signoff")
        key = next(one.id for one in browser.desk.folder.signing_keys() if one.name == "ours.key")
        given = {"nonce": field_of(page, "nonce"), "seal": field_of(page, "seal"), "key": key}
        assert "type the name" in browser.post("/signoff", None, **given, name="case14").words
        assert not browser.desk.jobs.all("release")
        assert browser.post("/signoff", None, **given, name="case14_ieee").headers["Location"].endswith("/release")
        assert browser.post("/signoff", None, **given, name="case14_ieee").status == 400  # a second press
        assert ">released<" in browser.wait("/release/live").text
        assert browser.post("/signoff", None, **given, name="case14_ieee").status == 400  # and a late one

        assert len(Ledger.read(ledger).history().of("charge")) <= 2
        assert Ledger.read(ledger).accounts(Ledger.read(ledger).history().current[0]).largest <= 1.0
        bundle = browser.get("/result/bundle.zip")
        assert bundle.headers["Content-Type"] == "application/zip"
        (root / "got.zip").write_bytes(bundle.body)
        verdict = verify(root / "got.zip", publisher=root / "ours.key.pub")
        assert verdict.passed and verdict.private
        job = browser.desk.jobs.all("release")[0]
        assert "--yes" not in job.arguments  # nothing was asked

        result = browser.get("/result")
        assert "INTERNAL" in result.words and "|z| changed" in result.text
        green = browser.get("/result/bundle")
        assert "PUBLIC" in green.words and "INTERNAL" not in green.words and "259" not in green.words
        assert {one.filename for one in zipfile.ZipFile(io.BytesIO(bundle.body)).infolist()} <= set(green.words.split())
        report = browser.get("/result/report")
        assert report.headers["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'")
        assert "allow-same-origin" not in report.headers["Content-Security-Policy"]

        assert browser.post("/result/check").status == 303
        own = next(one.id for one in browser.desk.folder.bundles() if one.name == "got.zip")
        assert browser.post("/review", file=own).status == 303
        assert any(word in browser.wait("/result/live").words.split()[0] for word in ("clean", "weak", "leaks"))
        assert browser.get("/result/leaks").headers["Content-Security-Policy"].startswith("sandbox allow-scripts;")
        said = browser.wait("/review/live").words
        for part in ("Recomputed by you", "publisher's word", "Not checkable"):
            assert part in said.replace("&#39;", "'")
        _no_path(browser, root)


def _no_path(browser: Browser, root: Path) -> None:
    for page in ("/", "/release", "/result", "/result/bundle", "/review", "/explore"):
        assert str(root) not in browser.get(page).text, page


def test_a_confirmation_holds_for_what_was_shown(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        given = _confirmed(browser)
        browser.post("/protect", None, **{**CHOSEN, "epsilon": "2"})
        assert "have changed" in browser.post("/signoff", None, **given).words
        given = _confirmed(browser)
        (root / "net.m").write_text((root / "net.m").read_text() + "% one more line\n")
        assert "have changed" in browser.post("/signoff", None, **given).words
        given = _confirmed(browser)
        CliRunner().invoke(app, ["ledger", "init", "--ledger", str(root / "ledger.db"), "--limit", "5"])
        assert "have changed" in browser.post("/signoff", None, **given).words
        assert not browser.desk.jobs.all("release")


def test_a_question_has_to_be_answered_and_a_refusal_cannot_be(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m", settings=Settings(Choice("L", 0.1, 11.0, 0.01)))
        CliRunner().invoke(app, ["ledger", "init", "--ledger", str(root / "ledger.db"), "--limit", "20"])
        assert "protects hardly anything" in browser.get("/protect").words
        given = _confirmed(browser)
        assert "there are questions" in browser.post("/signoff", None, **given).words.lower()
        browser.desk.lay(settings=Settings(Choice("L", 0.1, 21.0, 0.01)))
        page = browser.get("/signoff")
        assert "refused" in page.words and 'name="seal"' not in page.text
        assert "beyond the limit" in browser.get("/budget").words
        assert not browser.desk.jobs.all("release")


def test_two_presses_at_once_are_one_release(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[list[str]]()

    def start(self: Jobs, place: Path, kind: str, arguments: list[str], **about: Any) -> None:
        begun.append(arguments)

    monkeypatch.setattr(Jobs, "start", start)
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        given, seen = _confirmed(browser), list[int]()
        presses = [Thread(target=lambda: seen.append(browser.post("/signoff", None, **given).status)) for _ in range(8)]
        for one in presses:
            one.start()
        for one in presses:
            one.join()
    assert len(begun) == 1 and sorted(seen) == [303] + [400] * 7


@pytest.mark.parametrize("form", [
    CHOSEN,
    {**CHOSEN, "alpha": "12.3456789", "epsilon": "0.7654321", "beta": "0.5"},
    {**CHOSEN, "group-R": "1", "group-D": "1", "totals": "derived", "epsilon": "3"},
    {**CHOSEN, "group-L": "", "group-C": "1", "cost": "derived"},
    {**CHOSEN, "mechanism": "additive", "alpha": "0.1"},
    {**CHOSEN, "group-R": "1", "group-D": "1", "alpha-R": "5", "alpha-L": "12.5", "alpha-C": "7", "epsilon": "3"},
    {**CHOSEN, "alpha-L": "20"},
])  # fmt: skip
def test_the_page_and_the_command_see_the_same(root: Path, form: dict[str, str]) -> None:
    """A release is begun with options; the page showed a plan. Both come to the same charge and the same words."""
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        settings = from_form(form)
        plan, seen = looked(browser.desk.opened(), settings, None)
    options = [*settings.options, "--ledger", str(root / "none.db"), "--dry-run", "--json"]
    said = json.loads(CliRunner().invoke(app, ["release", str(root / "net.m"), *options]).stdout)
    assert said["loss"] == seen.loss and said["spent_after"] == seen.after.largest
    assert said["not_protected"] == list(seen.not_protected) and said["questions"] == list(seen.questions)
    assert said["cost"] == str(plan.source)


@pytest.mark.parametrize(("changed", "words"), [
    ({"alpha": "x"}, "α is not a number"), ({"epsilon": "nan"}, "ε is not a number"), ({"epsilon": "-1"}, "epsilon"),
    ({"beta": "100"}, "beta"), ({"alpha": "2000"}, "no protection but noise"), ({"group-L": ""}, "no group is named"),
    ({"mechanism": "magic"}, "no such mechanism"), ({"mechanism": "paper", "group-D": "1"}, "lines alone"),
    ({"cost": "guessed"}, "no source"), ({"group-R": "1", "alpha-R": "x"}, "α of ratings is not a number"),
    ({"group-R": "1", "alpha-R": "-3"}, "alpha"), ({"group-R": "1", "alpha-R": "2000"}, "no protection but noise"), ({"totals": "published"}, "no source"),
])  # fmt: skip
def test_settings_that_cannot_be_explain_themselves(root: Path, changed: dict[str, str], words: str) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        part = browser.post("/protect/words", None, **{**CHOSEN, **changed})
        assert part.status == 200 and 'role="alert"' in part.text and words in part.words.lower()
        assert browser.post("/protect", None, **{**CHOSEN, **changed}).status == 400
        assert browser.desk.lying().settings == Settings()


def test_words_follow_a_slider_at_once(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        browser.post("/protect/words", None, **CHOSEN)
        took = list[float]()
        for alpha in range(1, 12):
            begin = monotonic()
            words = browser.post("/protect/words", None, **{**CHOSEN, "alpha": str(alpha)}).words
            took.append(monotonic() - begin)
            assert "your line 2–3" in words
        assert sorted(took)[5] < 0.5  # about 0.02 s where nothing else runs


def test_trials_go_on_where_they_were(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        wanted = {"hide": "10%", "cost": "1%", "gap": "1", "minutes": "5"}
        assert browser.post("/explore", None, **wanted).status == 303
        assert browser.post("/explore", None, **wanted).status == 400  # one at a time
        assert "never on your network" in browser.get("/explore").words
        job = browser.desk.jobs.all("advise")[0]
        _tried(job, 2)
        browser.post("/explore/stop")
        first = browser.wait("/explore/live")
        assert (
            "Stand-in: the public network case30" in first.words
            and "settings so far" in first.words
            and "<circle" in first.text
        )
        lines = _tried(job, 2)
        assert browser.post("/explore/again").status == 303
        assert browser.desk.jobs.all("advise")[0].id == job.id
        _tried(job, lines + 1)
        browser.post("/explore/stop")
        browser.wait("/explore/live")
        assert (
            browser.post("/explore/take", None, choice=field_of(browser.get("/explore/live"), "choice")).status == 303
        )
        assert browser.post("/explore/take", None, choice="another").status == 400
        assert "(chosen)" in browser.get("/explore").words


def _tried(job: Job, many: int) -> int:
    """Wait for so many trials; how many there are."""
    end, found = time() + 120, 0
    while found < many:
        assert time() < end, job.said
        sleep(0.1)
        file = job.place / "trials.jsonl"
        found = file.read_bytes().count(b"\n") - 1 if file.exists() else 0
    return found


# ---- jobs ----


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    place = tmp_path / "jobs"
    place.mkdir()
    yield Jobs(place, tmp_path)


def _ended(jobs: Jobs, job: Job, seconds: float = 60.0) -> Job:
    end = time() + seconds
    while (now := jobs.find(job.id)) is not None and now.running:
        assert time() < end
        sleep(0.05)
    assert now is not None
    return now


def test_a_job_says_how_it_ended(jobs: Jobs) -> None:
    done = _ended(jobs, jobs.start(jobs.prepare("x"), "x", ["cases"]))
    assert (done.state, done.code) == (State.DONE, 0) and "case14" in done.out
    failed = _ended(jobs, jobs.start(jobs.prepare("x"), "x", ["info", "nothing.m"]))
    assert (failed.state, failed.code) == (State.FAILED, 2) and "nothing.m" in " ".join(failed.said)


def test_what_runs_outlives_the_server(jobs: Jobs) -> None:
    """The process that began a job is killed; whoever looks next finds it running, and then done."""
    place = jobs.prepare("x")
    code = (
        "import os, sys; from pathlib import Path; from gridveil.web.jobs import Jobs\n"
        "Jobs(Path(sys.argv[1]), Path(sys.argv[2])).start(Path(sys.argv[3]), 'x', ['opf', 'case39_epri'])\n"
        "os.kill(os.getpid(), 9)"
    )
    gone = subprocess.run([sys.executable, "-c", code, str(jobs.place), str(jobs.folder), str(place)], check=False)
    assert gone.returncode == -signal.SIGKILL
    job = jobs.find(place.name)
    assert job is not None and job.running
    assert _ended(jobs, job).state is State.DONE


def test_a_job_is_stopped_and_begun_again(jobs: Jobs, tmp_path: Path) -> None:
    arguments = ["advise", "case14_ieee", "--minutes", "5", "--out", "trials.jsonl"]
    job = jobs.start(jobs.prepare("x"), "x", arguments)
    with pytest.raises(GridVeilError, match="running already"):
        jobs.again(job)
    end = time() + 60
    while not (tmp_path / "trials.jsonl").exists():
        assert time() < end
        sleep(0.1)
    jobs.stop(job)
    stopped = _ended(jobs, job)
    assert stopped.state is State.FAILED and stopped.code
    again = jobs.again(stopped)
    assert again.id == job.id and again.running
    jobs_end = time() + 60
    while not (job.place / PID).exists():
        assert time() < jobs_end
        sleep(0.05)
    sleep(1.0)
    jobs.stop(again)
    assert not _ended(jobs, again).running


def test_a_killed_job_is_lost_and_no_other_process_is_signalled(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    place = jobs.prepare("x")
    (place / COMMAND).write_text(json.dumps({"kind": "x", "arguments": [], "folder": "", "about": {}}))
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    try:
        (place / PID).write_text(json.dumps({"pid": other.pid, "started": "another time"}))
        job = jobs.find(place.name)
        assert job is not None and job.state is State.LOST
        jobs.stop(Job(job.id, "x", place, (), {}, State.RUNNING, None))  # its number was given to somebody else
        sleep(0.2)
        assert other.poll() is None
        (place / PID).write_text(json.dumps({"pid": other.pid, "started": started(other.pid)}))
        job = jobs.find(place.name)
        assert job is not None and job.running
        jobs.stop(job)
        assert other.wait(10) == -signal.SIGTERM
    finally:
        other.kill()
        other.wait()
    old = time() - 100
    (place / PID).unlink()
    os.utime(place / COMMAND, (old, old))
    job = jobs.find(place.name)
    assert job is not None and job.state is State.LOST


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A" * 10, "x" * 200, "e\u0301" * 5])
def test_no_other_folder_is_a_job(jobs: Jobs, name: str) -> None:
    assert jobs.find(name) is None


def test_a_torn_exit_is_none(jobs: Jobs) -> None:
    place = jobs.prepare("x")
    (place / COMMAND).write_text(json.dumps({"kind": "x", "arguments": [], "folder": "", "about": {}}))
    (place / EXIT).write_text('{"co')
    job = jobs.find(place.name)
    assert job is not None and job.state is State.RUNNING


def test_a_desk_that_cannot_be_read_is_empty(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        for text in (b"", b"{", b"[]", b'{"name": 3, "settings": {"choice": {}, "fixed": {}}}', b"\xff"):
            (browser.desk.folder.home / "desk.json").write_bytes(text)
            assert browser.get("/").status == 200
            assert "no network is open" in browser.get("/protect").words.lower()


def test_a_file_that_is_gone_or_no_network_is_a_sentence(root: Path) -> None:
    with workbench(root) as browser:
        browser.desk.lay(name="net.m")
        (root / "net.m").write_text("function mpc = x\nmpc.bus = [1 2 3")
        answer = browser.get("/")
        assert answer.status == 200 and "net.m" in answer.words and str(root) not in answer.text
        (root / "net.m").unlink()
        assert "there is no such file" in browser.get("/protect").words.lower()


def test_the_command_serves_until_it_is_told_to_end(root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gridveil", "workbench", "net.m", "--no-browser", "--ledger", "ledger.db"],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        host = address.removeprefix("http://").partition("/")[0]
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("GET", address.partition(host)[2])
        answer = connection.getresponse()
        cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0]
        base = (answer.headers["Set-Cookie"] or "").partition("Path=")[2].partition(";")[0]
        answer.read()
        connection.request("GET", f"{base}/", headers={"Cookie": cookie})
        assert b"259 MW" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert "Traceback" not in err and out == ""
    finally:
        process.kill()
        process.communicate()
