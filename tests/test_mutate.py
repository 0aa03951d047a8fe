"""Mutants are changes of code, each of them another program; words and types are left alone."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = '''"""A module with 1 number in its words."""
LIMIT: int | None = 3  # µ before the code: offsets are bytes

@dataclass(frozen=True)
class Thing:
    """Says 5."""

    def size(self, low: float = 0.5, *, name: str = "a + b") -> float | None:
        """Not 7 < 8."""
        if low < 2 and not self.empty:
            raise ValueError(f"less than {low + 9} or -1")
        self.seen(low, key=low)
        return max(low - 1, -self.least)
'''.encode()


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    path = Path(__file__).parents[1] / "scripts" / "mutate.py"
    spec = importlib.util.spec_from_file_location("mutate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate"] = module  # its data classes look themselves up
    spec.loader.exec_module(module)
    return module


def test_every_kind_of_change_is_made_and_only_in_code(mutate: ModuleType) -> None:
    found = [one for place in mutate.places(SOURCE) for one in place]
    changes = {(one.kind, SOURCE[one.start : one.end].decode(), one.text) for one in found}
    for wanted in (
        ("comparison", "<", "<="),
        ("comparison", "<", ">="),
        ("and/or", "and", "or"),
        ("boolean", "not ", ""),
        ("arithmetic", "-", "+"),
        ("sign", "-", ""),
        ("min/max", "max", "min"),
        ("constant", "3", "4"),
        ("constant", "0.5", "1.0"),
        ("dropped keyword", ", key=low", ""),
        ("return", "return max(low - 1, -self.least)", "return None"),
        ("negated", "low < 2 and not self.empty", "not (low < 2 and not self.empty)"),
        ("removed statement", "self.seen(low, key=low)", "pass"),
        ("removed statement", 'raise ValueError(f"less than {low + 9} or -1")', "pass"),
    ):
        assert wanted in changes
    assert not {"1", "5", "7", "8", "9", "True", "|"} & {old for kind, old, _ in changes if kind != "constant"}
    assert {old for kind, old, _ in changes if kind == "constant"} == {"3", "0.5", "2", "1"}
    assert all(mutate.is_one(SOURCE, one) for one in found)
    inside = [one for one in found if one.kind == "sign"]
    assert [(one.function, one.line) for one in inside] == [("Thing.size", 13)]


def test_what_is_the_same_program_is_no_mutant(mutate: ModuleType) -> None:
    same = mutate.Change("", 0, 0, "# words\n", 1, "")
    broken = mutate.Change("", 0, 0, "(", 1, "")
    assert not mutate.is_one(SOURCE, same)
    assert not mutate.is_one(SOURCE, broken)
