"""What commands cost before and beside their work, in units of a bare `python -c pass` (processor time).

    python benchmarks/startup.py             # the least of 10 turns, with the Python that runs this
    python -m compileall -q src/gridveil     # before it: as in an installed package, nothing of ours has to be compiled

A turn runs every command once, so that a machine whose speed changes is as fast for one as for another. Processes that
a command starts are counted with it. A release draws anew each time: how much its repair costs is in the median.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from importlib.util import cache_from_source
from pathlib import Path
from statistics import median

import gridveil
from gridveil.cli.usage import COMMANDS

BARE = "python -c pass"
BARS = {"--version": 10.0, "--help": 20.0, "COMMAND --help": 20.0, "release case39_epri": 80.0, "verify": 50.0}


def cpu(command: list[str]) -> float:
    """Processor seconds of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(place: Path) -> dict[str, list[str]]:
    """What is run, in this order."""
    command = [sys.executable, "-m", "gridveil.cli.main"]
    script = Path(sys.executable).with_name("gridveil")
    if script.exists():
        command = [sys.executable, str(script)]
    ledger, bundle = str(place / "ledger"), str(place / "bundle")
    return {
        BARE: [sys.executable, "-c", "pass"],
        "--version": [*command, "--version"],
        "--help": [*command, "--help"],
        **{f"{name} --help": [*command, name, "--help"] for name in COMMANDS},
        "opf case39_epri": [*command, "opf", "case39_epri"],
        "release case39_epri": [*command, "release", "case39_epri", "--ledger", ledger, "--out", bundle, "--force"],
        "verify": [*command, "verify", bundle],
        "verify --quick": [*command, "verify", "--quick", bundle],
    }


def measure(turns: int) -> dict[str, list[float]]:
    """All turns, by command."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(turns):
            for file in Path(folder).glob("ledger*"):
                file.unlink()  # a first release each time
            for name, command in commands(Path(folder)).items():
                for _ in range(5 if name == BARE else 1):
                    found.setdefault(name, []).append(cpu(command))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10)
    found = measure(parser.parse_args().turns)
    helps = {name: found.pop(name) for name in [one for one in found if one.endswith(" --help")]}
    dearest = max(helps, key=lambda name: min(helps[name]))
    found["COMMAND --help"] = helps[dearest]
    compiled = Path(cache_from_source(gridveil.__file__)).exists()
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, {'with' if compiled else 'without'} bytecode of ours"
    )
    print(f"COMMAND --help is the dearest of {len(helps)}, {dearest}\n")
    print("| | units, least | median | seconds, least | bar |\n|---|---|---|---|---|")
    unit = min(found[BARE])
    for name, seconds in found.items():
        bar = f"{BARS[name]:g}" if name in BARS else ""
        least, middle = min(seconds), median(seconds)
        print(f"| `{name}` | {least / unit:.1f} | {middle / unit:.1f} | {least:.3f} | {bar} |")


if __name__ == "__main__":
    main()
