"""`python -m tests.faults NAME --count N --seed S`: one campaign, its record as JSON; exit 1 if a trial failed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.record import Record

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a fork has one thread, and so have the trials
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")


def _study(folder: Path, count: int, seed: int) -> Record:
    """Only this one needs the extra `study`."""
    from tests.faults.study import study

    return study(folder, count, seed)


def main() -> int:
    """Run a campaign."""
    from tests.faults import campaigns, child, crowd, disk, fuzz, plants, power

    known = {
        "kills": campaigns.kills, "moments": campaigns.moments, "signals": campaigns.signals,
        "starved": campaigns.starved, "lines": campaigns.lines, "operations": campaigns.operations,
        "clock": campaigns.clock, "fuzz": fuzz.fuzz, "crowd": crowd.crowd, "power": power.power, "disk": disk.disk,
        "child": child.child, "study": _study,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=known)
    parser.add_argument("--count", type=int, required=True, help="trials; for crowd, releases at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="of crowd")
    parser.add_argument("--plant", choices=plants.PLANTS, help="a bug that the campaign must find")
    given = parser.parse_args()
    if given.plant:
        plants.PLANTS[given.plant]()
    room = "/dev/shm" if Path("/dev/shm").is_dir() else None  # trials flush to disk all the time
    more = {"rounds": given.rounds} if given.name == "crowd" else {}
    with tempfile.TemporaryDirectory(prefix="faults.", dir=room) as folder:
        record = known[given.name](Path(folder), given.count, given.seed, **more)
    sys.stdout.write(json.dumps(record.plain(), indent=1, ensure_ascii=False) + "\n")
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
