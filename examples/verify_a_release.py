"""Verify somebody else's release without knowing the original, and see a forged one rejected.

python examples/verify_a_release.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gridveil as gv

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

# Somebody releases a network (in research mode here, so that this example needs no ledger) ...
plan = gv.Plan(epsilon=1.0, alpha=0.1, beta=0.01)
bundle = gv.release(gv.seal("case14_ieee"), plan, noise=gv.SeededNoise(1)).write(folder / "theirs", force=True)

# ... and anybody can check it: digests, manifest, power flows, and the optimal cost, solved anew. What nobody can check
# of it is said, too: verdict.word, verdict.not_checkable.
print("as published:", gv.verify(bundle).sentence)

# A forger makes the first line a better one. The file still reads as a network.
network = bundle / "released.m"
rows = network.read_text().splitlines()
first = next(i for i, row in enumerate(rows) if row.startswith("mpc.branch")) + 1
cells = rows[first].split("\t")
cells[4] = repr(0.5 * float(cells[4]))
network.write_text("\n".join([*rows[:first], "\t".join(cells), *rows[first + 1 :]]))
verdict = gv.verify(bundle)
print("forged:", verdict.sentence, verdict.failed[0])
