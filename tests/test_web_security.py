"""Who may talk to the workbench, and what it never says. Every rule has a request that only this rule refuses."""

from __future__ import annotations

import http.client
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gridveil import cases
from gridveil.errors import GridVeilError
from gridveil.privacy.ledger import Ledger
from gridveil.web.app import ACTIONS, PAGES, STATIC
from gridveil.web.asked import sentence
from gridveil.web.files import Folder, NotHere, plain_name
from gridveil.web.security import HEADERS, MOST_FORM, MOST_UPLOAD, POLICY
from gridveil.web.serve import LOOPBACK, listening, show
from tests.workbench import Answer, Browser, field_of, workbench


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    root = tmp_path_factory.mktemp("steward")
    shutil.copy(cases.path("case14") or "", root / "net.m")
    with workbench(root) as found:
        found.desk.lay(name="net.m")
        yield found


def test_it_listens_on_loopback_alone() -> None:
    with listening(0) as one:
        assert one.getsockname()[0] == LOOPBACK == "127.0.0.1"


def test_the_first_address_gives_a_strict_cookie_and_leads_to_one_without_the_token(browser: Browser) -> None:
    session = browser.session
    answer = browser.ask("GET", f"/?token={session.token}", headers={"Cookie": None, "Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200
    assert answer.headers["Set-Cookie"] == f"{browser.cookie}; Path={session.base}; HttpOnly; SameSite=Strict"
    assert session.token not in answer.text and f"{session.base}/" in answer.text
    assert browser.get("/").status == 200


@pytest.mark.parametrize("token", ["", "x", "é", "%ff%00", "x" * 3000])
def test_a_wrong_token_gives_nothing(browser: Browser, token: str) -> None:
    path = "/?token=" + token.replace("é", "%C3%A9")
    answer = browser.ask("GET", path, headers={"Cookie": None})
    assert answer.status == 403 and answer.headers["Set-Cookie"] is None


def test_two_tokens_are_none(browser: Browser) -> None:
    path = f"/?token={browser.session.token}&token={browser.session.token}"
    assert browser.ask("GET", path, headers={"Cookie": None}).status == 403


@pytest.mark.parametrize(
    "cookie", [None, "", "gridveil-1=x", "{name}=", "{name}=x", "other={value}", "{name}={value}x"]
)
def test_without_the_cookie_nothing_is_seen(browser: Browser, cookie: str | None) -> None:
    session = browser.session
    given = cookie and cookie.format(name=session.cookie_name, value=session.cookie)
    for page in ("/", "/protect", "/static/workbench.js", "/nowhere"):
        assert browser.get(page, Cookie=given).status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "0.0.0.0:{port}"]
)
def test_another_host_is_refused(browser: Browser, host: str) -> None:
    """A name that somebody made lead to this machine brings his pages' origin with it."""
    given = host.format(port=browser.session.port)
    assert browser.get("/", Host=given).status == 400
    first = browser.ask("GET", f"/?token={browser.session.token}", headers={"Host": given, "Cookie": None})
    assert first.status == 400 and first.headers["Set-Cookie"] is None


def test_two_hosts_and_none_are_refused(browser: Browser) -> None:
    own = f"Host: 127.0.0.1:{browser.session.port}\r\n"
    head = f"GET {browser.session.base}/ HTTP/1.1\r\nCookie: {browser.cookie}\r\nConnection: close\r\n"
    for hosts in ("", own + "Host: evil.example\r\n"):
        assert b" 400 " in browser.raw((head + hosts + "\r\n").encode()).split(b"\r\n")[0]
    assert b" 200 " in browser.raw((head + own + "\r\n").encode()).split(b"\r\n")[0]


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1:{port}",
                                    "http://localhost:{port}"])  # fmt: skip
def test_a_form_of_another_origin_does_nothing(browser: Browser, origin: str | None) -> None:
    given = origin and origin.format(port=browser.session.port)
    answer = browser.post("/pick", {"Origin": given}, file="shipped:case30_ieee")
    assert answer.status == 403
    assert browser.desk.lying().name == "net.m"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_port_gets_nothing(browser: Browser, site: str) -> None:
    assert browser.get("/", **{"Sec-Fetch-Site": site}).status == 403
    assert browser.post("/pick", {"Sec-Fetch-Site": site}, file="shipped:case30_ieee").status == 403


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_every_form_needs_its_own_token(browser: Browser, action: str) -> None:
    other = "/pick" if action != "/pick" else "/protect"
    before = sorted(str(one) for one in browser.desk.folder.home.rglob("*"))
    for token in ("", "x", browser.session.form_token(other), "é"):
        assert browser.post(action, form=token).status == 403
    assert sorted(str(one) for one in browser.desk.folder.home.rglob("*")) == before


def test_a_form_is_urlencoded_or_nothing(browser: Browser) -> None:
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json", None):
        assert browser.post("/pick", {"Content-Type": kind}, file="shipped:case30_ieee").status == 403


def test_actions_are_no_pages_and_pages_no_actions(browser: Browser) -> None:
    for action in set(ACTIONS) - set(PAGES):
        assert browser.get(action).status == 405
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        assert browser.ask(method, browser.session.base + "/").status == 405


def test_every_answer_has_its_headers(browser: Browser) -> None:
    pages = [*(browser.session.base + one for one in PAGES), "/", "/x", "/favicon.ico"]
    for path in pages:
        for headers in ({}, {"Cookie": None}, {"Host": "evil.example"}):
            answer = browser.ask("GET", path, headers=headers)
            for name, text in HEADERS.items():
                assert answer.headers.get_all(name) == [text], (path, name)
            assert "server" not in {one.lower() for one in answer.headers}
    for name in STATIC:
        answer = browser.get(f"/static/{name}")
        assert answer.status == 200 and answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_pages_have_no_script_or_style_of_their_own(browser: Browser) -> None:
    for page in PAGES:
        text = browser.get(page).text.lower()
        for word in ("<style", " style=", "javascript:", "<script>", " onclick=", " onload=", "http://", "https://"):
            assert word not in text, (page, word)


def test_nothing_secret_stands_in_a_page(browser: Browser) -> None:
    session = browser.session
    for page in PAGES:
        answer = browser.get(page)
        for secret in (session.token, session.cookie, session.secret.hex(), str(browser.desk.folder.root)):
            assert secret not in answer.text, page
    assert session.token not in repr(session) and session.cookie not in repr(session)


def test_what_is_too_large_is_refused_before_it_is_read(browser: Browser) -> None:
    base = browser.session.base
    head = f"POST {base}/pick HTTP/1.1\r\nHost: 127.0.0.1:{browser.session.port}\r\nCookie: {browser.cookie}\r\n"
    head += f"Connection: close\r\nOrigin: {browser.origin}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    assert b" 413 " in browser.raw(f"{head}Content-Length: {MOST_FORM + 1}\r\n\r\n".encode()).split(b"\r\n")[0]
    large = head.replace("/pick", "/upload?kind=case")
    assert b" 413 " in browser.raw(f"{large}Content-Length: {MOST_UPLOAD + 1}\r\n\r\n".encode()).split(b"\r\n")[0]


def test_what_does_not_say_its_size_is_counted(browser: Browser) -> None:
    """The server hangs up on what is too large; whoever is still sending then may not come to read why."""
    for _ in range(10):
        with suppress(BrokenPipeError, ConnectionResetError):
            assert _unsized(browser) == 413
            return
    raise AssertionError("no answer is ever read")


def _unsized(browser: Browser) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", browser.session.port, timeout=30)
    headers = {"Cookie": browser.cookie, "Origin": browser.origin, "Content-Type": "application/x-www-form-urlencoded"}
    chunks = (b"a" * 8192 for _ in range(2 * MOST_FORM // 8192))
    try:
        connection.request("POST", browser.session.base + "/pick", chunks, headers, encode_chunked=True)
        return connection.getresponse().status
    finally:
        connection.close()


def _upload(browser: Browser, name: str, body: bytes, **headers: str | None) -> Answer:
    given = {"X-Name": name, "X-Form": browser.session.form_token("/upload"), **headers}
    return browser.ask("POST", browser.session.base + "/upload?kind=case", body, given)


@pytest.mark.parametrize(
    "name", ["../../evil.m", "..%2f..%2fevil.m", "/etc/evil.m", "C:\\temp\\evil.m", "%00evil.m", ".evil.m"]
)
def test_an_upload_stays_where_uploads_are(browser: Browser, name: str) -> None:
    answer = _upload(browser, name, b"function mpc = evil\n")
    assert answer.status == 200
    found = list(browser.desk.folder.root.rglob("*evil.m"))
    assert [one.parent.parent for one in found] == [browser.desk.folder.uploads]
    assert not stat.S_IMODE(found[0].stat().st_mode) & 0o177  # its owner's, and nobody runs it
    assert not (browser.desk.folder.root.parent / "evil.m").exists()


def test_an_upload_needs_its_token_a_name_and_content(browser: Browser) -> None:
    before = sorted(browser.desk.folder.uploads.rglob("*"))
    assert _upload(browser, "a.m", b"x", **{"X-Form": None}).status == 400
    assert _upload(browser, "a.m", b"").status == 400
    for name in ("a.py", "a", ".m", "a.m/", ""):
        assert _upload(browser, name, b"x").status == 400
    assert sorted(browser.desk.folder.uploads.rglob("*")) == before


def test_an_upload_that_breaks_off_leaves_nothing(browser: Browser) -> None:
    before = sorted(browser.desk.folder.uploads.rglob("*"))
    head = f"POST {browser.session.base}/upload?kind=case HTTP/1.1\r\nHost: 127.0.0.1:{browser.session.port}\r\n"
    head += f"Cookie: {browser.cookie}\r\nOrigin: {browser.origin}\r\nX-Name: half.m\r\n"
    head += f"X-Form: {browser.session.form_token('/upload')}\r\nContent-Length: 1000\r\n\r\nhalf of it"
    browser.raw(head.encode(), hang_up=True)
    assert browser.get("/").status == 200
    assert sorted(browser.desk.folder.uploads.rglob("*")) == before


def test_links_out_of_the_folder_lead_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.m").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "inside.m").write_text("inside")
    (root / "file.m").symlink_to(outside / "secret.m")
    (root / "folder").symlink_to(outside)
    (root / "own.m").symlink_to(root / "inside.m")
    folder = Folder(root)
    assert [one.name for one in folder.cases()] == ["inside.m", "own.m"]
    for name in ("file.m", "folder/secret.m", "../outside/secret.m", "nothing.m"):
        with pytest.raises(NotHere):
            folder.within(root / name)
        with pytest.raises(NotHere):
            folder.path(folder.id_of(name), folder.cases())


def test_a_workbench_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "workbench").symlink_to(outside)
    with pytest.raises(NotHere):
        Folder(root)
    assert not list(outside.iterdir())


def test_a_network_outside_the_folder_is_not_opened(browser: Browser) -> None:
    root = browser.desk.folder.root
    (root.parent / "outside.m").write_text((root / "net.m").read_text())
    (root / "later.m").symlink_to(root.parent / "outside.m")  # after it was chosen
    for name in ("../outside.m", str(root.parent / "outside.m"), "later.m", "workbench"):
        with pytest.raises(GridVeilError, match="folder"):
            browser.desk.reader.read(name)
    (root / "later.m").unlink()


def test_ids_of_files_tell_no_names(browser: Browser, tmp_path: Path) -> None:
    assert browser.desk.folder.id_of("net.m") != Folder(tmp_path).id_of("net.m")
    for wanted in ("net.m", "../net.m", "/etc/passwd", "shipped:../../x", "shipped:/etc/passwd", "", "é"):
        assert browser.post("/pick", file=wanted).status == 404


def test_names_of_files_are_made_plain() -> None:
    assert plain_name("N%C3%A4tz%20%3Cb%3E.m", (".m",)) == "N_tz__b_.m"
    assert plain_name("x" * 300 + ".m", (".m",)) == "x" * 78 + ".m"


def test_sentences_have_no_paths_of_the_machine(browser: Browser) -> None:
    root = browser.desk.folder.root
    text = sentence(browser.desk, f"{root}/net.m, line 3: it (see '/home/anna/grids/x.m') is not; C:\\Users\\a\\b.m")
    assert str(root) not in text and "anna" not in text and "Users" not in text
    assert "net.m, line 3" in text.replace("Net", "net") and "x.m" in text


def test_what_the_browser_is_opened_with_is_its_owners_alone(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", opened.append)
    file = show(browser.desk)
    assert browser.session.token in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o600
    file.unlink()
    assert all(browser.session.token not in one for one in opened)


def test_malformed_requests_are_answered_without_traceback_path_or_charge(browser: Browser) -> None:
    """Some hundreds, from a seed: forms with strange fields, with and without what makes them ours, and raw bytes."""
    draw = random.Random(18)
    words = ["", "0", "-1", "1e999", "nan", "inf", "L", "yes", "é\u202e", "<script>", "'; --", "%00", "../../etc/passwd",
             "A" * 5000, "{{7*7}}", "\x00\x01", "shipped:case3_lmbd", "10", "log", "private", "\ud7ff"]  # fmt: skip
    names = ["file", "alpha", "epsilon", "beta", "mechanism", "cost", "totals", "group-L", "group-D", "name", "nonce",
             "seal", "meant", "key", "hide", "gap", "minutes", "choice", "next", "form", "x"]  # fmt: skip
    harmless = sorted(set(ACTIONS) - {"/review", "/explore", "/explore/again"})
    root = str(browser.desk.folder.root)
    seen = set[int]()
    for turn in range(400):
        action = draw.choice([*harmless, "/explore", "/nowhere"])
        form = {draw.choice(names): draw.choice(words) for _ in range(draw.randrange(6))}
        if action == "/explore":
            form["minutes"] = draw.choice(["nan", "-1", "1e9", "", "x"])
        answer = browser.post(action, {"X-Fragment": "1"} if turn % 2 else None, **form)
        seen.add(answer.status)
        _clean(answer.body, root)
        assert answer.status in (200, 303, 400, 403, 404, 405), (action, form, answer.words)
    own = f"Host: 127.0.0.1:{browser.session.port}\r\nCookie: {browser.cookie}\r\nOrigin: {browser.origin}\r\nConnection: close\r\n"
    for _ in range(200):
        line = bytearray(
            f"POST {browser.session.base}/signoff HTTP/1.1\r\n{own}Content-Length: 9\r\n\r\nnonce=abc".encode()
        )
        for _ in range(draw.randrange(1, 6)):
            line[draw.randrange(len(line))] = draw.randrange(256)
        _clean(browser.raw(bytes(line), seconds=0.3), root)
    assert {200, 303, 400, 403} <= seen
    assert browser.get("/").status == 200
    assert not browser.desk.jobs.all("release") and not Ledger.exists(browser.desk.folder.root / "ledger.db")


def _clean(body: bytes, root: str) -> None:
    for word in (b"Traceback", b'File "', root.encode(), b"site-packages", b"Internal Server Error"):
        assert word not in body, body[:500]


def test_a_failure_of_ours_is_a_sentence(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise RuntimeError("the demand of bus 7 is 17.3 MW")

    monkeypatch.setattr(browser.desk, "opened", broken)
    answer = browser.get("/protect")
    assert answer.status == 500 and "17.3" not in answer.text and "Runtime" not in answer.text
    assert "17.3" not in capsys.readouterr().err


def test_the_sign_off_page_is_bound_to_what_it_shows(browser: Browser) -> None:
    page = browser.get("/signoff")
    given = {"nonce": field_of(page, "nonce"), "name": "case14_ieee"}
    for seal in ("", "0" * 64, field_of(browser.get("/signoff"), "seal")):
        assert "changed since" in browser.post("/signoff", None, **given, seal=seal).words
    assert not browser.desk.jobs.all("release")
