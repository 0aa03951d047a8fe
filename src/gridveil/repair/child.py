"""The repair in a process of its own: JSON bytes in, JSON bytes out, nothing secret within reach.

python -m gridveil.repair.child < request > answer
"""

from __future__ import annotations

import subprocess
import sys

from gridveil.errors import ReleaseError, RepairFailed, WallBreach
from gridveil.exchange.types import Fidelity, NoisyLines, PublicFacts, Repair
from gridveil.exchange.wire import dumps, loads
from gridveil.grid import PublicGrid
from gridveil.repair.repair import repair

FORBIDDEN = ("gridveil.sealed", "gridveil.privacy", "gridveil.casefile", "gridveil.publish")


def repair_in_child(grid: PublicGrid, noisy: NoisyLines, facts: PublicFacts, fidelity: Fidelity) -> Repair:
    """Repair behind the wall."""
    request = dumps({"grid": grid, "noisy": noisy, "facts": facts, "fidelity": fidelity})
    done = subprocess.run([sys.executable, "-m", __name__], input=request, capture_output=True, check=False)
    if done.returncode != 0:
        raise ReleaseError(
            f"the repair process ended with code {done.returncode}: {done.stderr.decode()[-400:].strip()}"
        )
    answer = loads(done.stdout)
    if "failed" in answer:
        raise RepairFailed(answer["failed"])
    result: Repair = answer["repair"]
    return result


def main() -> None:
    """Answer one request."""
    request = loads(sys.stdin.buffer.read())
    try:
        answer = {"repair": repair(request["grid"], request["noisy"], request["facts"], request["fidelity"])}
    except RepairFailed as failure:
        answer = {"failed": str(failure)}  # type: ignore[dict-item]
    if reached := [name for name in sys.modules if name.startswith(FORBIDDEN)]:
        raise WallBreach(f"the repair process has loaded {', '.join(sorted(reached))}")
    sys.stdout.buffer.write(dumps(answer))


if __name__ == "__main__":
    main()
