"""`leakcheck`: from an original and its releases, as files, to a verdict. INTERNAL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gridveil.casefile import Case
from gridveil.casefile import columns as c
from gridveil.casefile.to_network import to_network, written_point
from gridveil.check.leaks.groups import changed_groups
from gridveil.check.leaks.knowledge import Reader, reader_from_manifest
from gridveil.check.leaks.verdict import LeakReport, check_same, examine
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.publish.manifest import Manifest
from gridveil.wall.protection import GROUP_WORDS, Group


def leakcheck(
    original: Case | Network, released: Sequence[Case], manifests: Sequence[Manifest | None] = ()
) -> LeakReport:
    """Check one or several releases of a network; without a manifest a reader has to guess how large the noise is. A
    `Network` has no solved state of its own, so that nobody asks whether it was published."""
    if not released:
        raise ReleaseError("there is no release to check; give one or more")
    records = [*manifests, *[None] * (len(released) - len(manifests))]
    truth = original if isinstance(original, Network) else to_network(original)
    check_same(truth, [to_network(one) for one in released])
    readers = [reader_of(case, record) for case, record in zip(released, records, strict=True)]
    shown = isinstance(original, Case) and any(_shows_state(original, one) for one in released)
    report = examine(truth, readers, true_state=shown)
    untold = [one.network for one, record in zip(readers, records, strict=True) if record is None]
    judged = {one.group for one in report.groups}
    changed = {group for network in untold for group in changed_groups(truth, network)} - judged
    return replace(report, unjudged=tuple(GROUP_WORDS[group] for group in Group if group in changed))


def reader_of(case: Case, manifest: Manifest | None = None) -> Reader:
    """What a reader has of a released file and its manifest."""
    network = to_network(case)
    told = {} if manifest is None else reader_from_manifest(manifest)
    return Reader(network, **told, state=written_point(case, network))


def _shows_state(original: Case, released: Case) -> bool:
    """Whether the released file has the voltages of the original's; a flat start says nothing."""
    live = np.isin(original.bus[:, c.BUS_NUMBER], released.bus[:, c.BUS_NUMBER])
    flat = np.ptp(released.bus[:, c.VA]) == 0
    return bool(not flat and np.array_equal(original.bus[live][:, [c.VM, c.VA]], released.bus[:, [c.VM, c.VA]]))
