"""Whatever a file holds, a reader gives a network or a sentence; and what it gives makes a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridveil.formats.convert import convert
from gridveil.formats.find import import_case
from gridveil.formats.registry import by_name

from .fuzzing import survive
from .raw_files import raw33, three, two

FORMS = ("psse33", "psse35", "rawx")


def originals(form: str) -> list[bytes]:
    """Files of a format with everything in them that its reader knows."""
    made = [convert(import_case(name), by_name(form)).main for name in ("case5", "case14")]
    files = [data for data in made if isinstance(data, bytes)]
    own = [raw33(two(2, 2, 2) + three(3, 3)).encode(), raw33(three(1, 1, 2) + two(3, 1)).encode()]
    return files + (own if form == "psse33" else [])


@pytest.mark.parametrize("form", FORMS)
def test_some_bent_files(form: str) -> None:
    good, said = survive(form, originals(form), 300, seed=1)
    assert 0 < good < 300 and len(said) > 10


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS)
def test_ten_thousand_bent_files(form: str) -> None:
    good, said = survive(form, originals(form), 10_000, seed=2)
    assert 0 < good < 10_000 and len(said) > 40


def test_the_test_notices_a_reader_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: an index that is not looked at."""
    monkeypatch.setattr("gridveil.formats.raw_text._decoded", lambda path, data: (data.decode("utf-8"), False))
    with pytest.raises(UnicodeDecodeError):
        survive("psse33", originals("psse33"), 300, seed=1)


def test_nothing_but_bytes_is_needed(tmp_path: Path) -> None:
    """Readers open no file: what they are given is all they see."""
    found = by_name("psse33").read()(tmp_path / "not there.raw", raw33(two(1, 1)).encode())
    assert len(found.case.bus) == 4
