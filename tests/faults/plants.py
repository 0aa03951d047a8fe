"""Bugs to plant: a campaign that does not find them is worth nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridveil.errors import LedgerError, ReleaseError
from gridveil.privacy import chain
from gridveil.privacy.composition import Accounts
from gridveil.privacy.keyfile import KeyFile
from gridveil.privacy.ledger import Receipt
from gridveil.publish import bundle, spending
from gridveil.publish.spending import Purse

from .phases import put


def unpaid() -> None:
    """The charge is written after the draw."""
    pay, keep = Purse.pay, Purse.keep
    late: list[tuple[Any, ...]] = []

    def later(purse: Purse, charge: Any, details: Any = None, then: Any = ()) -> None:
        late.append((charge, details, then))
        purse.receipts.append(replace(_NONE, loss=charge.loss))

    def keeping(purse: Purse, paper: bytes) -> None:
        purse.receipts.pop()
        pay(purse, *late.pop())
        keep(purse, paper)

    put(Purse, "pay", later)
    put(Purse, "keep", keeping)


def unsaid() -> None:
    """A failure after the charge passes as it is."""
    put(spending, "told", lambda purse, failure: ReleaseError(str(failure)))


def partial() -> None:
    """The bundle is written where it belongs, file by file."""

    @contextmanager
    def direct(target: Path, *, force: bool) -> Iterator[Path]:
        target.mkdir(exist_ok=True)
        yield target

    put(bundle, "staged", direct)


def forgotten() -> None:
    """A failure of the anchor after the charge is taken for one before it."""
    advance = KeyFile.advance

    def failing(file: Any, anchor: Any) -> None:
        try:
            advance(file, anchor)
        except OSError as error:
            raise LedgerError("the anchor cannot be written") from error

    put(KeyFile, "advance", failing)
    put(chain, "Unanchored", LedgerError)


def overspent() -> None:
    """No release sees what others have spent: not in its preview, which luck would let some pass, nor at the charge."""
    put(Accounts, "exceeded", property(lambda _: False))


def unflushed() -> None:
    """Nothing of ours is flushed to disk."""
    put(os, "fsync", lambda handle: None)


def unkept() -> None:
    """A study's task counts as done before it is on disk."""
    from gridveil.study.store import Store

    add, flush, late = Store.add, Store.flush, list[tuple[Any, ...]]()

    def later(store: Store, *finished: Any) -> None:
        late.append(finished)
        if len(late) > 2:
            add(store, *late.pop(0))

    def flushed(store: Store) -> None:
        while late and len(store._pending) < 5:
            add(store, *late.pop(0))
        flush(store)

    put(Store, "add", later)
    put(Store, "flush", flushed)


def doubled() -> None:
    """What an earlier run left in its journal is taken up although it is in a part already."""
    from gridveil.study import found, store

    def recover(opened: Any) -> None:
        opened._pending = [row for records in found.read_journal(opened.journal) for row in records]
        opened._entry = 1000 * len(opened._parts())
        opened.flush()

    put(store.Store, "_recover", recover)
    put(store, "read_parts", lambda paths, *more: [found._part(path, *more) for path in paths])


def blamed() -> None:
    """Tasks that a scheduler took with it count as failed."""
    from gridveil.study import runner

    outcome = runner._outcome

    def blaming(future: Any) -> Any:
        try:
            return outcome(future)
        except Exception as error:  # noqa: BLE001 - that is the bug
            return [], 0.0, str(error)

    put(runner, "_outcome", blaming)


_NONE = Receipt(0, "", 0.0, 0.0, (), None)
PLANTS: dict[str, Callable[[], None]] = {
    one.__name__: one for one in (unpaid, unsaid, partial, forgotten, overspent, unflushed, unkept, doubled, blamed)
}
