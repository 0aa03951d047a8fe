"""Time and peak memory of one release in a fresh process: python -m gridveil.study.peak < request > answer."""

from __future__ import annotations

import pickle
import resource
import sys
from time import perf_counter

from gridveil.study.draws import optimum, released


def main() -> None:
    """Answer one request: a pickled (network, settings, seed)."""
    network, settings, seed = pickle.loads(sys.stdin.buffer.read())
    start, begin = _peak(), perf_counter()
    optimum(network)
    opf_seconds, opf_mb = perf_counter() - begin, _peak() - start
    begin = perf_counter()
    made = released(network, settings, seed)
    row = {
        "opf_seconds": opf_seconds,
        "opf_mb": opf_mb,
        "release_seconds": perf_counter() - begin,
        "release_mb": _peak() - start,
        "path": made.manifest["repair"]["path"],
    }
    sys.stdout.buffer.write(pickle.dumps(row))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
