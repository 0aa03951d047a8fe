"""The workbench in a real browser: from a file to a signed bundle by keys alone, on a desk, a phone, light and dark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from gridveil import cases
from gridveil.check.verdict import Signed
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.signature import create_key
from gridveil.report.verification import verify
from tests.steward import Steward
from tests.workbench import Browser, workbench

if not any(shutil.which(one) for one in ("chromium", "chromium-browser", "google-chrome")):
    pytest.skip("Chromium is not installed", allow_module_level=True)

SLACK = 3.0
"""How much slower a machine may be that runs other tests besides; benchmarks/workbench.py has the limits themselves."""
PAGES = ("/", "/protect", "/explore", "/budget", "/signoff", "/release", "/result", "/result/bundle", "/review")
REST = "!document.querySelector('[data-running]')"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where somebody has a key, and the network still lies elsewhere."""
    made = tmp_path_factory.mktemp("steward")
    (made / "desk").mkdir()
    create_key(made / "desk" / "ours.key")
    shutil.copy(cases.path("case39") or cases.path("case39_epri") or "", made / "net39.m")
    return made


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Browser]:
    with workbench(root / "desk") as found:
        yield found


@pytest.fixture(scope="module")
def steward(server: Browser) -> Iterator[Steward]:
    with Steward(server.session) as one:
        took = one.begin()
        assert took < 1.0 * SLACK
        yield one


def drop(steward: Steward, file: Path) -> None:
    """Choose a file in the field that has the focus: the dialogue of the system is not the page's."""
    tree = steward.ask("DOM.getDocument")["root"]["nodeId"]
    field = steward.ask("DOM.querySelector", nodeId=tree, selector="input[type=file]")["nodeId"]
    steward.run("window.leaving = true")
    steward.ask("DOM.setFileInputFiles", nodeId=field, files=[str(file)])
    steward.until("!window.leaving && document.readyState === 'complete'")


def test_from_a_file_to_a_signed_bundle_by_keys_alone(root: Path, server: Browser, steward: Steward) -> None:
    ledger = root / "desk" / "ledger.db"
    assert steward.tab_to("To the content")["at"] >= 0  # it comes into sight
    assert steward.tab_to("Drop a file here")["id"] == "case-file"
    drop(steward, root / "net39.m")
    assert "6,254 MW" in steward.run("document.body.innerText")

    steward.tab_to("Choose what to protect")
    steward.enter("/protect")
    steward.tab_to("α, the change that is hidden: a line")
    before = steward.run("document.getElementById('words').innerText")
    for _ in range(2):
        steward.press("ArrowRight")
    steward.until(f"document.getElementById('words').innerText !== {json.dumps(before)}")
    assert steward.run("document.getElementById('alpha').value") == "12"
    steward.until("document.getElementById('words').innerText.includes('0.01348 or 0.01691')")
    steward.tab_to("Keep them and go on to the budget")
    steward.enter("/budget")
    assert "corridor" in steward.run("document.body.innerText")
    steward.tab_to("Go on to sign off")
    steward.enter("/signoff")

    assert not Ledger.exists(ledger)  # nothing was charged, nor was anything made
    steward.tab_to("key")
    steward.type("o")  # ours.key
    steward.tab_to("To confirm, type the name")
    steward.type("case39")  # the first half alone is refused
    steward.tab_to("Charge")
    steward.enter("/signoff")
    assert "type the name of the network: case39_epri" in steward.run("document.body.innerText")
    assert not Ledger.exists(ledger)
    steward.seen.clear()  # the refusal is a status 400, of which browsers complain
    steward.events.clear()

    steward.page("/signoff")
    steward.tab_to("key")
    steward.type("o")
    steward.tab_to("To confirm, type the name")
    steward.type("case39_epri")
    steward.tab_to("Charge")
    steward.enter("/release")
    steward.until(f"{REST} && document.body.innerText.includes('released')", 240)
    steward.tab_to("See what came of it")
    steward.enter("/result")
    for button, done in (
        ("Begin the leak check", "Every protected number"),
        ("Solve both", "The optimal dispatch costs"),
    ):
        steward.tab_to(button)
        steward.enter("/result")
        steward.until(f"{REST} && document.body.innerText.includes('{done}')", 240)
    steward.tab_to("what you give away")
    steward.enter("/result/bundle")
    assert steward.complaints() == []

    assert Ledger.read(ledger).accounts(Ledger.read(ledger).history().current[0]).largest <= 1.0
    bundle = next((root / "desk" / "workbench" / "releases").glob("*.zip"))
    verdict = verify(bundle, publisher=root / "desk" / "ours.key.pub")
    assert verdict.passed and verdict.private and verdict.signature.state is Signed.NAMED


def test_every_page_is_for_everybody_by_day_and_by_night(steward: Steward) -> None:
    _explored(steward)
    for dark in (False, True):
        value = "dark" if dark else "light"
        steward.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])
        for page in PAGES:
            steward.page(page)
            steward.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert steward.hard() == [], (page, value)
            if not dark:
                assert steward.reached() == "", page
                assert all(one["ring"] for one in steward.stops() if one["tag"] != "BODY"), page
    steward.ask("Emulation.setEmulatedMedia", features=[])
    assert steward.complaints() == []


def _explored(steward: Steward) -> None:
    """Its table and figure are on the page, too; and a verdict on the page Review."""
    steward.page("/explore")
    if "settings so far" not in steward.run("document.body.innerText"):
        steward.run("document.getElementById('minutes').value = '0.15'")
        steward.tab_to("Begin")
        steward.enter("/explore")
        steward.until(f"{REST} && document.body.innerText.includes('so far')", 120)
    steward.page("/review")
    steward.tab_to("Verify")
    steward.enter("/review")
    steward.until(f"{REST} && document.body.innerText.includes('Recomputed by you')", 120)


def test_nothing_is_wider_than_a_phone_or_paper(steward: Steward) -> None:
    steward.phone()
    for page in (*PAGES, "/result/report", "/result/leaks"):
        steward.page(page)
        assert steward.run("document.documentElement.scrollWidth") <= 390, (page, steward.wider(390))
    steward.ask("Emulation.setDeviceMetricsOverride", width=710, height=1000, deviceScaleFactor=1, mobile=False)
    steward.ask("Emulation.setEmulatedMedia", media="print")
    for page in PAGES:
        steward.page(page)
        assert steward.run("document.documentElement.scrollWidth") <= 710, (page, steward.wider(710))
    steward.ask("Emulation.setEmulatedMedia", media="")
    steward.ask("Emulation.clearDeviceMetricsOverride")
    assert steward.complaints() == []


def test_the_first_page_and_a_slider_answer_at_once(server: Browser, steward: Steward) -> None:
    server.desk.lay(name="case39_epri")
    steward.page("/protect")
    took = steward.slider(15)
    assert took[7] < 100 * SLACK and took[0] < 100, took
    assert min(steward.begin() for _ in range(3)) < 1.0


def test_a_slider_uncovers_one_map_and_covers_the_other(steward: Steward) -> None:
    steward.page("/result")
    cut = "['before', 'after'].map((one) => getComputedStyle(document.querySelector(`.wipe .${one} svg`)).clipPath)"
    assert steward.run(cut) == ["inset(0px 50% 0px 0px)", "inset(0px 0px 0px 50%)"]
    steward.tab_to("Left of the line")
    for _ in range(5):
        steward.press("ArrowRight")
    assert (
        steward.run("document.getElementById('wipe').getAttribute('aria-valuetext')") == "55 % original, 45 % release"
    )
    assert steward.run(cut) == ["inset(0px 45% 0px 0px)", "inset(0px 0px 0px 55%)"]


def test_words_follow_a_slider_that_does_not_rest(server: Browser, steward: Steward) -> None:
    """No answer is waited for by a timer, and the last position is what the words say in the end."""
    server.desk.lay(name="case39_epri")
    steward.page("/protect")
    begin = monotonic()
    steward.run("""(async () => {
      const slider = document.querySelector("input[type=range][data-for=alpha]");
      for (let i = 1; i <= 50; i++) { slider.value = String(i); slider.dispatchEvent(new Event("input", { bubbles: true })); await new Promise((done) => setTimeout(done, 5)); }
    })()""")
    steward.until("document.getElementById('words').innerText.includes('or 0.02265')", 10)  # 0.0151 p.u. and half of it
    assert monotonic() - begin < 5


PLANTED = {
    "contrast 1.": '<p class="quiet" id="planted">x</p>',
    "no label": '<input type="text">',
    "no name": "<button></button>",
    "two of id main": '<p id="main">x</p>',
    "a heading of level 4": "<h4>x</h4>",
    "leads nowhere": '<label for="nothing">x</label>',
    "2 headings of the first level": "<h1>x</h1>",
    "a heading without scope": "<table><tr><th>x</th></tr></table>",
}


@pytest.mark.parametrize("words", PLANTED)
def test_the_checker_finds_what_is_planted(steward: Steward, words: str) -> None:
    steward.page("/budget")
    assert steward.hard() == []
    steward.run(f"document.querySelector('main').insertAdjacentHTML('beforeend', {json.dumps(PLANTED[words])})")
    steward.run("document.getElementById('planted')?.style.setProperty('color', 'rgb(250, 250, 250)')")
    assert any(words in one for one in steward.hard())


def test_complaints_and_what_is_too_wide_would_be_noticed(steward: Steward) -> None:
    for plant in ("console.error('x')", "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')",
                  "fetch('/nowhere').then(() => 1)"):  # fmt: skip
        steward.page("/budget")
        assert steward.complaints() == []
        steward.run(plant)
        steward.run("new Promise((done) => setTimeout(done, 100))")
        assert steward.complaints()
        steward.seen.clear()
        steward.events.clear()
    steward.run("document.querySelector('main').style.minWidth = '5000px'")
    assert steward.wider(1280)
