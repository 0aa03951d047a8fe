"""Release a network from Python, look at its certificate, write the bundle.

python examples/release_from_python.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gridveil as gv

target = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

network = gv.seal("case39_epri")  # a file of yours goes here; from now on its lines can only be released
plan = gv.Plan(epsilon=1.0, alpha="10%", beta=0.01)
made = gv.release(network, plan, ledger=gv.Ledger.open(target / "grid.ledger"))

print(network)
for check in made.certificate.checks:
    print(f"{'holds' if check.passed else 'FAILS'}  {check.name}: {check.value:.2g} (limit {check.limit:.2g})")
print(f"privacy spent so far: {made.manifest.privacy.cumulative_loss:g}")
print(f"written to {made.write(target / 'released')}")
