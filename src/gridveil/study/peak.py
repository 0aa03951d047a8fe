"""Time and peak memory of one release in a fresh process, which `process/start.py` begins: request in, answer out."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from time import perf_counter

from gridveil.study.draws import optimum, released

if sys.platform != "win32":
    import resource

CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def main() -> None:
    """Answer one request: a pickled (network, settings, seed)."""
    network, settings, seed = pickle.loads(sys.stdin.buffer.read())
    start, begin = _reset_peak(), perf_counter()
    optimum(network)
    opf_seconds, opf_mb = perf_counter() - begin, _peak() - start
    _reset_peak()
    begin = perf_counter()
    made = released(network, settings, seed)
    row = {
        "opf_seconds": opf_seconds,
        "opf_mb": opf_mb,
        "release_seconds": perf_counter() - begin,
        "release_mb": _peak() - start,
        "path": made.manifest.repair.path,
    }
    sys.stdout.buffer.write(pickle.dumps(row))


def _reset_peak() -> float:
    """Forget the peak of the imports where the system can (Linux); return the peak in MB."""
    if CLEAR.exists():
        CLEAR.write_text("5")
    return _peak()


def _peak() -> float:
    if STATUS.exists():
        lines = STATUS.read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024
    if sys.platform == "win32":
        import psutil  # noqa: PLC0415 - Dask brings it along

        return float(psutil.Process().memory_info().peak_wset) / 2**20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10  # bytes there, kilobytes elsewhere
