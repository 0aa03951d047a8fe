"""Where a ledger is kept if nobody says otherwise: one place on each system, never the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridveil.privacy.ledger import default_path


@pytest.mark.parametrize(
    ("platform", "variables", "base"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data"),
        ("linux", {"XDG_DATA_HOME": ""}, "/home/me/.local/share"),
        ("linux", {"XDG_DATA_HOME": "here"}, "/home/me/.local/share"),
        ("linux", {}, "/home/me/.local/share"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/me/Library/Application Support"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming"),
        ("win32", {"APPDATA": ""}, "/home/me"),
        ("win32", {}, "/home/me"),
    ],
)
def test_a_ledger_has_one_place(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], base: str
) -> None:
    for name in ("XDG_DATA_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    monkeypatch.setattr("sys.platform", platform)
    assert default_path() == Path(base) / "gridveil" / "ledger.db"
