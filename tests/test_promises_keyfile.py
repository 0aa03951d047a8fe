"""The key file of a ledger: what it holds at birth and later, with the anchor in it or apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridveil.errors import LedgerError
from gridveil.privacy.keyfile import Anchor, KeyFile
from gridveil.privacy.ledger import Ledger

HEAD = "a" * 64


def test_a_key_is_born_whole_and_once(tmp_path: Path) -> None:
    path = tmp_path / "l.db.key"
    KeyFile.create(path, 3.0)
    first = KeyFile.read(path)
    assert (len(first.key), first.anchor, first.anchor_path, first.limit) == (32, None, None, 3.0)
    assert path.stat().st_mode & 0o777 == 0o600
    KeyFile.create(path, 4.0)  # the first of two processes wins
    assert KeyFile.read(path) == first
    assert [one.name for one in tmp_path.iterdir()] == ["l.db.key"]
    KeyFile.create(tmp_path / "other", None)
    assert KeyFile.read(tmp_path / "other").key != first.key
    assert KeyFile.read(tmp_path / "other").limit is None


def test_an_anchor_stands_in_the_key_file(tmp_path: Path) -> None:
    path = tmp_path / "k"
    KeyFile.create(path, 3.0)
    key = KeyFile.read(path).key
    for count in (1, 2):
        KeyFile.read(path).advance(Anchor(count, HEAD))
        found = KeyFile.read(path)
        assert (found.key, found.anchor, found.anchor_path) == (key, Anchor(count, HEAD), None)
        assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["k"]


def test_an_anchor_may_stand_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place is written down at birth, wherever the process stands; then it must be there."""
    (tmp_path / "far").mkdir()
    monkeypatch.chdir(tmp_path)
    path, apart = tmp_path / "k", tmp_path / "far" / "anchor"
    KeyFile.create(path, None, Path("far/anchor"))
    born = KeyFile.read(path)
    assert (born.anchor_path, born.anchor) == (apart, None)
    for count in (1, 2):
        KeyFile.read(path).advance(Anchor(count, HEAD))
        found = KeyFile.read(path)
        assert (found.key, found.anchor, found.anchor_path) == (born.key, Anchor(count, HEAD), apart)
        assert apart.stat().st_mode & 0o777 == path.stat().st_mode & 0o777 == 0o600
        assert json.loads(apart.read_text()) == {"count": count, "head": HEAD}
    apart.unlink()
    with pytest.raises(LedgerError, match="is missing; put it back, or restore"):
        KeyFile.read(path)


@pytest.mark.parametrize("cut", [2, -2])
def test_a_key_has_32_bytes(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "k"
    KeyFile.create(path, None)
    record = json.loads(path.read_text())
    record["key"] = record["key"][:cut] if cut < 0 else record["key"] + "00"
    path.write_text(json.dumps(record))
    with pytest.raises(LedgerError, match="is not the key of a ledger"):
        KeyFile.read(path)


@pytest.mark.parametrize("limit", [None, 0.0, 2.5])
def test_a_ledger_is_born_with_its_limit(tmp_path: Path, limit: float | None) -> None:
    book = Ledger.init(tmp_path / "l.db", limit, tmp_path / "anchor")
    found = book.accounts(book.assets("x", ["corridor 1 2"])).largest_limit
    assert found == limit
    assert KeyFile.read(KeyFile.beside(book.path)).anchor_path == tmp_path / "anchor"
    assert (tmp_path / "anchor").exists()
