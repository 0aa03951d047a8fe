"""Protect: an α of its own for each group, from the form to the command."""

from __future__ import annotations

import shutil
from pathlib import Path

from gridveil import cases
from gridveil.advice.choice import Choice
from gridveil.web.settings import Settings
from tests.test_web_path import CHOSEN
from tests.workbench import workbench


def test_a_group_has_an_alpha_of_its_own(tmp_path: Path) -> None:
    shutil.copy(cases.path("case14") or "", tmp_path / "net.m")
    form = {**CHOSEN, "group-R": "1", "group-D": "1", "alpha-R": "5", "alpha-L": "20", "alpha-C": "7"}
    with workbench(tmp_path) as browser:
        browser.desk.lay(name="net.m")
        assert browser.post("/protect", None, **form).status == 303
        settings = browser.desk.lying().settings  # read from its file again
        assert settings.alphas == {"lines": 0.2, "ratings": 0.05}  # costs are not protected
        assert settings.plan(browser.desk.opened()).protection.alpha == {"lines": 0.2, "ratings": 0.05, "loads": 0.1}
        page = browser.get("/protect")
        assert 'name="alpha-R" value="5"' in page.text and 'name="alpha-D" value=""' in page.text
        assert "one of ratings 5%" in page.words and "0.165 or 0.2376" in page.words  # the line at 20 %
        sign = browser.get("/signoff").words
        assert "lines α 20%, ratings α 5%" in sign and "--alpha-lines 20% --alpha-ratings 5%" in sign
        browser.post("/protect", None, **{**CHOSEN, "alpha-L": "20"})
        assert browser.desk.lying().settings == Settings(Choice("L", 0.2, 1.0, 0.01))
