"""Choose α: how cost, gaps, attacks and the lines themselves change with it, on your own network. INTERNAL.

python examples/choose_alpha.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import mean

from gridveil.study.catalogue import STUDIES
from gridveil.study.runner import run_study
from gridveil.study.store import read_results


def main() -> None:
    """Run a small `frontier` study and print its table."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "frontier"
    settings: dict[str, tuple[float | str, ...]] = {
        "alpha": (0.01, 0.1, 0.3),
        "epsilon": (1.0,),
        "source": ("private",),
    }
    run_study(STUDIES["frontier"], out, cases=["case14_ieee"], draws=3, settings=settings, workers=2)
    rows = read_results(out, STUDIES)["frontier"].to_pylist()
    print("α     lines off by   cost off by   same lines attacked")
    for alpha in (0.01, 0.1, 0.3):
        mine = [row for row in rows if row["alpha"] == alpha]
        lines, cost = mean(r["reconstruction_error_pct"] for r in mine), mean(r["cost_error_pct"] for r in mine)
        print(f"{alpha:<5g} {lines:10.1f} % {cost:12.3f} % {mean(r['similarity'] for r in mine):17.0f} %")


if __name__ == "__main__":  # Dask starts its workers by importing this file again
    main()
