"""Choose α: how cost, gaps, attacks and the lines themselves change with it, on your own network. INTERNAL.

python examples/choose_alpha.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gridveil as gv


def main() -> None:
    """Run a small `frontier` study and print its table."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "frontier"
    settings: dict[str, tuple[float | str, ...]] = {
        "alpha": (0.01, 0.1, 0.3),
        "epsilon": (1.0,),
        "source": ("private",),
    }
    gv.run_study("frontier", out, cases=["case14_ieee"], draws=3, settings=settings, workers=2)
    by_alpha = gv.results(out).groupby("alpha")
    print("α     lines off by   cost off by   same lines attacked")
    for alpha, rows in by_alpha[["reconstruction_error_pct", "cost_error_pct", "similarity"]].mean().iterrows():
        print(f"{alpha:<5g} {rows.iloc[0]:10.1f} % {rows.iloc[1]:12.3f} % {rows.iloc[2]:17.0f} %")


if __name__ == "__main__":  # Dask starts its workers by importing this file again
    main()
