"""Named places in a release. They are hung into a process that makes one release and ends, so nothing is taken down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridveil.cli import release_table
from gridveil.privacy.chain import Chain
from gridveil.privacy.keyfile import KeyFile
from gridveil.privacy.ledger import Ledger
from gridveil.privacy.noise import SeededNoise
from gridveil.publish import behind, bundle, spending, staging
from gridveil.repair.workshop import Workshop

Action = Callable[[str], None]
FILES = (bundle.NETWORK, bundle.CERTIFICATE, bundle.MANIFEST)


def put(owner: Any, name: str, value: Any) -> None:
    """Have something else under a name, for the rest of this process."""
    setattr(owner, name, value)


class Phases:
    """Says each place as it is reached, with a number if it is reached again."""

    def __init__(self, action: Action) -> None:
        self._action = action
        self._often: Counter[str] = Counter()
        self._last = ""

    def reach(self, name: str) -> None:
        self._often[name] += 1
        often = self._often[name]
        self._action(name if often == 1 else f"{name} ({often})")

    def around(self, owner: Any, attribute: str, name: str) -> None:
        """Two places: before a function and after it."""
        inner = getattr(owner, attribute)

        def outer(*given: Any, **named: Any) -> Any:
            self.reach(f"before {name}")
            answer = inner(*given, **named)
            self.reach(f"after {name}")
            return answer

        put(owner, attribute, outer)

    def hang(self) -> None:
        """Into the code of a release, from its charge to its last word."""
        self.around(spending.Purse, "pay", "the payment")
        self.around(spending.Purse, "keep", "keeping the draw")
        self._ledger()
        self.around(SeededNoise, "laplace", "the draw")
        for method in ("estimate", "repair"):
            self.around(Workshop, method, f"the {method}")
        self.around(behind, "certify", "certifying")
        self.around(behind, "make_manifest", "the manifest")
        self._files()
        self.around(Path, "rename", "the rename")
        self.around(staging, "exchange", "the exchange")
        self.around(Ledger, "record_outcome", "the outcome")
        self.around(release_table, "print_release", "the last words")

    def _ledger(self) -> None:
        append, advance = Chain.append, KeyFile.advance

        def appended(chain: Any, connection: Any, kind: str, *given: Any) -> Any:
            entry = append(chain, connection, kind, *given)
            self._last = kind
            self.reach(f"{kind} within its transaction")
            return entry

        def advanced(file: Any, anchor: Any) -> None:
            self.reach(f"{self._last} committed, not anchored")
            advance(file, anchor)
            self.reach(f"{self._last} anchored")

        put(Chain, "append", appended)
        put(KeyFile, "advance", advanced)

    def _files(self) -> None:
        write = Path.write_bytes

        def written(path: Path, data: bytes) -> int:
            if path.name not in FILES:
                return write(path, data)
            self.reach(f"before {path.name}")
            write(path, data[: len(data) // 2])
            self.reach(f"half of {path.name}")
            answer = write(path, data)
            self.reach(f"after {path.name}")
            return answer

        put(Path, "write_bytes", written)
