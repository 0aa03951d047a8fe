"""Release a network for a whole day: one draw, promises at six of its 24 hours, and how it does at the others.

python examples/release_over_a_day.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gridveil as gv

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

day = gv.make_profile("case14_ieee", 24, "sine", low=0.7, high=1.05)  # or gv.read_profile("day.csv", "case14_ieee")
plan = gv.Plan(epsilon=1.0, alpha=0.1, beta=0.01, steps=6)
made = gv.release(gv.seal("case14_ieee"), plan, noise=gv.SeededNoise(3), profile=day)
print("promised at the hours", [fact.step for fact in made.costs])
print("certified:", made.certificate.passed)

bundle = made.write(folder / "day", force=True)
steps = gv.compare_steps("case14_ieee", bundle)  # INTERNAL: it needs the original
print(f"largest change of cost at a promised hour: {max(abs(s.away or 0) for s in steps if s.used):.2%}")
print(f"largest change of cost at any other hour:  {max(abs(s.away or 0) for s in steps if not s.used):.2%}")
