"""Studies for tests: work that fails, dies or only counts; importable by workers."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

from gridveil.errors import GridError
from gridveil.grid import Network
from gridveil.study.declare import Row, Settings, Study


def count(network: Network, settings: Settings, seed: int) -> list[Row]:
    return [{"buses": network.grid.n_bus, "twice": 2.0 * float(settings["alpha"]), "seed": str(seed)}]


def fail_sometimes(network: Network, settings: Settings, seed: int) -> list[Row]:
    if float(settings["alpha"]) == 2.0:
        raise GridError("two is too much")
    return count(network, settings, seed)


def die_once(network: Network, settings: Settings, seed: int) -> list[Row]:
    mark = Path(str(settings["mark"]))
    if not mark.exists():
        mark.touch()
        os._exit(9)
    return count(network, {"alpha": 1.0}, seed)


def die_always(network: Network, settings: Settings, seed: int) -> list[Row]:
    if float(settings["alpha"]) == 2.0:
        os._exit(9)
    return count(network, settings, seed)


RUNNING: dict[str, int] = {"now": 0, "most": 0}


def linger(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Counts how many run at once, if all workers are threads of one process."""
    RUNNING["now"] += 1
    RUNNING["most"] = max(RUNNING["most"], RUNNING["now"])
    sleep(0.15)
    RUNNING["now"] -= 1
    return count(network, settings, seed)


def lost_once(network: Network) -> Network:
    """Gives back its argument, in a process that counts; the first time as if two workers had died on it."""
    from distributed import KilledWorker

    RUNNING["lost"] += 1
    if RUNNING["lost"] == 1:
        worker: Any = SimpleNamespace(address="tls://gone")
        raise KilledWorker("network", worker, 1)
    return network


def slowly(network: Network, settings: Settings, seed: int) -> list[Row]:
    """Leaves time for a kill."""
    sleep(0.02)
    return count(network, settings, seed)


def _study(work: object, **settings: tuple[object, ...]) -> Study:
    columns = {"buses": int, "twice": float, "seed": str}
    return Study("counting", "Counting", "ours", ("case5_pjm",), settings, columns, work, draws=2)  # type: ignore[arg-type]


COUNT = _study(count, alpha=(1.0, 2.0))
FAILS = _study(fail_sometimes, alpha=(1.0, 2.0))
LINGERS = _study(linger, alpha=(1.0, 2.0))
DIES = _study(die_once, mark=("",))
KILLS = _study(die_always, alpha=(1.0, 2.0, 3.0))
