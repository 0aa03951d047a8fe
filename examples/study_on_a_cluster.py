"""Run a study on a Dask cluster that already exists. Here it is a local one; yours has other credentials.

python examples/study_on_a_cluster.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from distributed import LocalCluster
from distributed.security import Security

import gridveil as gv


def main() -> None:
    """Run the same study twice: the second time there is nothing left to do."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "cluster"
    security = Security.temporary()
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", security=security
    ) as cluster:  # fmt: skip
        for _ in range(2):
            made = gv.run_study(
                "costs", out, cases=["case14_ieee"], draws=2, scheduler=cluster.scheduler_address,
                security=security,
                settings={"mechanism": ("log", "additive"), "alpha": (0.1,)},
            )  # fmt: skip
            print(f"{made.run} tasks run, {made.done_before} were done before, {made.failed} failed")


if __name__ == "__main__":
    main()
