"""The functions of the facade: what a script needs, taking a case in whatever form it is at hand."""

from __future__ import annotations

from pathlib import Path

from gridveil import cases
from gridveil.attacks.attack import Attack, Target
from gridveil.attacks.attack import attack as attack_target
from gridveil.casefile import Case, read
from gridveil.casefile.to_network import to_network
from gridveil.errors import AttackError
from gridveil.grid import Network
from gridveil.nlp.island import Rules
from gridveil.nlp.opf import Solution, opf_model
from gridveil.nlp.opf import solve_opf as solve_model
from gridveil.nlp.power_flow import Demand
from gridveil.nlp.solver import Progress, SolverOptions
from gridveil.sealed.split import SecretNetwork, split


def read_case(case: str | Path) -> Case:
    """Read a case file, or a shipped case by its name; a file of that name goes before a shipped case."""
    shipped = cases.path(str(case))
    try:
        here = shipped is None or Path(case).exists()
    except OSError:  # `read` will say why it cannot be looked at
        here = True
    return read(case if here or shipped is None else shipped)


def load(case: str | Path | Case | Network) -> Network:
    """The network of a case, a case file or a shipped case."""
    if isinstance(case, Network):
        return case
    return to_network(case if isinstance(case, Case) else read_case(case))


def seal(case: str | Path | Case | Network) -> SecretNetwork:
    """Seal a network: its public half can be seen, its line parameters only be released."""
    return split(case if isinstance(case, Case | Network) else read_case(case))


def solve_opf(
    case: str | Path | Case | Network,
    demand: Demand | None = None,
    options: SolverOptions | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve the AC-OPF of a case. For many solves of one grid, build `opf_model` once and use `nlp.opf.solve_opf`."""
    network = load(case)
    return solve_model(opf_model(network.grid), network.lines, demand, options, progress)


def attack(
    case: str | Path | Case | Network | Target,
    released: str | Path | Case | Network | None = None,
    *,
    attacker: str = "real",
    budget: float | None = None,
    count: int | None = None,
    restoration: str | None = None,
    seed: int = 0,
) -> Attack:
    """Attack a network: `budget` in per cent of its lines, or a `count`; the damage is that of the real network.

    `restoration` is 'switchable' (unless said otherwise) or 'literal'. For many attacks of one network, make a `Target`
    once, which has its own, and give it instead: equal line sets are then restored once.
    """
    target = case if isinstance(case, Target) else Target(load(case), restoration or Rules.SWITCHABLE)
    if restoration not in (None, target.rules):
        raise AttackError(f"this target is restored by '{target.rules}'; make another for '{restoration}'")
    return attack_target(target, attacker, budget, count, None if released is None else load(released), seed)
