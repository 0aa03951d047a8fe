"""`gridveil advise CASE`: which ε, α, β, mechanism and groups; tried on a stand-in, never on the secret itself."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from gridveil.cli.exits import Exit
from gridveil.cli.options import CaseArgument, JsonOption, LedgerOption, SameAsOption
from gridveil.cli.output import err, out, print_json, reporting, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gridveil.advice.explore import Progress, State
    from gridveil.advice.recommend import Advice
    from gridveil.advice.search import Space
    from gridveil.advice.stand_in import StandIn
    from gridveil.privacy.ledger import Ledger
    from gridveil.publish.elements import SameAs
    from gridveil.sealed.split import Sealed

SECONDS = 30.0
"""Between lines about trials, where there is no terminal."""
STAMP = "INTERNAL: what is tried is tried on stand-ins, but what you are choosing is yours"


def advise(
    case: CaseArgument,
    hide: Annotated[
        str, typer.Option(help="Goal: the reader's best guess of a reactance is off by so much at least (median).")
    ] = "10%",
    keep_cost: Annotated[str, typer.Option(help="Goal: the dispatch cost is off by so much at most.")] = "1%",
    keep_gap: Annotated[float, typer.Option(help="Goal: the SOC gap changes by so many points at most.")] = 1.0,
    hide_flows: Annotated[
        float | None,
        typer.Option(
            help="Goal: an attacker finds so many points more of the lines that matter than with a map alone, at most."
        ),
    ] = None,
    stand_in: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CASE", help="A public network to try on, or a bundle released of this one; else the nearest ones."
        ),
    ] = None,
    stand_in_epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="EPSILON", help="Try on a noisy draw of the network itself: charged to the ledger each time."
        ),
    ] = None,
    stand_in_out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep that draw as a bundle, to go on with by --stand-in DIR.")
    ] = None,
    protect: Annotated[
        list[str] | None,
        typer.Option(help="Groups to consider, each time together: lines, or lines,ratings, or all; several times."),
    ] = None,
    alpha: Annotated[str | None, typer.Option(metavar="A,B", help="The α to begin with, such as 3%,10%,30%.")] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="A,B", help="The ε to consider, the usual one first.")] = None,
    beta: Annotated[str | None, typer.Option(metavar="A,B", help="The β to consider, the usual one first.")] = None,
    mechanisms: Annotated[
        str, typer.Option(help="Mechanisms for lines to consider: log, additive, paper.")
    ] = "log,additive",
    ratings: Annotated[str, typer.Option(help="As for release: own or with-impedance.")] = "own",
    cost: Annotated[str | None, typer.Option(help="As for release: private, derived or declared.")] = None,
    totals: Annotated[str | None, typer.Option(help="As for release: private, derived or declared.")] = None,
    minutes: Annotated[float, typer.Option(help="How long it may take.")] = 10.0,
    workers: Annotated[int, typer.Option(min=1, help="Processes that try.")] = 2,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Keep trials, to go on later on the same stand-in.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with table and figure.")] = None,
    ledger: LedgerOption = None,
    same_as: SameAsOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Charge the stand-in without being asked.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Recommend settings for a release of CASE by trials on a stand-in. Of CASE its structure is used (what is
    joined to what), and its numbers only with --stand-in-epsilon, through noise: choosing by results on the secret
    would tell of it."""
    with reporting(as_json):
        from gridveil.advice.advise import advise as advised
        from gridveil.advice.clock import in_time, table_seconds
        from gridveil.advice.goals import goals
        from gridveil.api.cases import seal
        from gridveil.publish.same_as import read_same_as

        network, begin = seal(case), monotonic()
        wanted = goals(hide, keep_cost, keep_gap, hide_flows)
        space = _space(protect, alpha, epsilon, beta, mechanisms)
        fixed = {"ratings": ratings, "cost": cost, "totals": totals}
        fixed = {name: value for name, value in fixed.items() if value is not None and value != "own"}
        known = None if same_as is None else read_same_as(same_as, network.structure, network.labels.bus_name)
        page = _page() if report is not None else None
        _refuse_early(network, space, fixed, minutes, stand_in_epsilon, stand_in_out, out_file)
        trying = _stand_ins(network, stand_in or [], stand_in_epsilon, stand_in_out, ledger, known, yes, as_json)
        tables = table_seconds(trying, space, workers)
        if not as_json:
            say(f"trying on {escape(' and '.join(one.words for one in trying))}")
        if not as_json or tables[-1] > 60 * minutes:
            say(in_time(tables, minutes))
        if stand_in_epsilon is None:  # what it took so far is a part of them; but how long a draw takes depends on
            minutes = max(minutes - (monotonic() - begin) / 60, minutes / 2)  # the network, and so would the advice
        with _shown(as_json) as progress:
            found = advised(
                network, wanted, stand_ins=trying, space=space, fixed=fixed, ledger=_existing(ledger),
                same_as=known, minutes=minutes, workers=workers, out=out_file, progress=progress,
            )  # fmt: skip
        if report is not None and page is not None:
            from gridveil.files import write_whole

            write_whole(report, page(case, found))
        if as_json:
            print_json({"stamp": STAMP, **found.record()})
        else:
            _print(found)
    if found.best is None:
        raise SystemExit(int(Exit.NOT_SOLVED))


def _refuse_early(
    network: Sealed,
    space: Space,
    fixed: Mapping[str, str | None],
    minutes: float,
    epsilon: float | None,
    keep: Path | None,
    trials: Path | None,
) -> None:
    """Refuse before anything is charged what would be refused after it, or would lose or charge a draw again."""
    from gridveil.advice.clock import require_a_trial
    from gridveil.advice.explore import require_time
    from gridveil.advice.search import possible
    from gridveil.errors import ReleaseError

    require_time(minutes)
    if epsilon is not None:
        require_a_trial(network.structure.n_line, minutes)
    possible(space, fixed)
    if epsilon is None:
        return
    instead = "give --stand-in DIR, which charges nothing, in place of --stand-in-epsilon"
    if keep is not None and keep.exists():
        raise ReleaseError(f"{keep} exists; to go on with the draw in it {instead}; for another draw name another DIR")
    if trials is not None and keep is None:
        raise ReleaseError(
            "--out keeps trials of a draw that is gone when the command ends; give --stand-in-out DIR too, and go on "
            "with --stand-in DIR. Nothing was charged"
        )
    if trials is not None and trials.exists() and trials.stat().st_size:
        raise ReleaseError(
            f"{trials} has trials of another draw; to go on with it {instead}, or name another file for a new draw. "
            "Nothing was charged"
        )


def _space(
    protect: list[str] | None, alpha: str | None, epsilon: str | None, beta: str | None, mechanisms: str
) -> Space:
    """What is varied, as it was given."""
    from gridveil.advice.choice import letters
    from gridveil.advice.search import Space
    from gridveil.errors import PrivacyError
    from gridveil.wall.mechanisms import OF_LINES

    given = {
        "groups": None if protect is None else tuple(dict.fromkeys(letters(one) for one in protect)),
        "alphas": _numbers("alpha", alpha),
        "epsilons": _numbers("epsilon", epsilon),
        "betas": _numbers("beta", beta),
        "mechanisms": tuple(one.strip() for one in mechanisms.split(",") if one.strip()),
    }
    if unknown := [one for one in given["mechanisms"] or () if one not in OF_LINES]:
        raise PrivacyError(f"there is no mechanism '{unknown[0]}' for lines; choose from {', '.join(OF_LINES)}")
    return Space(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _numbers(name: str, text: str | None) -> tuple[float, ...] | None:
    from gridveil.publish.values import require_positive, share_value

    if text is None:
        return None
    found = tuple(share_value(name, one) for one in text.split(",") if one.strip())
    for one in found:
        require_positive(name, one)
    return found or None


def _stand_ins(
    network: Sealed, named: list[str], epsilon: float | None, keep: Path | None, ledger: Path | None,
    same_as: SameAs | None, yes: bool, as_json: bool,
) -> list[StandIn]:  # fmt: skip
    """What plays the truth: what was named, a charged draw, or public networks."""
    from gridveil.advice.company import accompanied, company
    from gridveil.advice.stand_in import RELEASED, given
    from gridveil.errors import ReleaseError

    if named and epsilon is not None:
        raise ReleaseError("--stand-in and --stand-in-epsilon contradict each other; give one of the two")
    if keep is not None and epsilon is None:
        raise ReleaseError("--stand-in-out keeps the draw of --stand-in-epsilon; give both, or neither")
    if named:
        found = [given(one, network.structure) for one in named]
        alone = len(found) == 1 and found[0].name == RELEASED
        return accompanied(found[0], network.structure) if alone else found
    if epsilon is not None:
        draw = _charged(network, epsilon, keep, ledger, same_as, yes=yes, as_json=as_json)
        return company(network.structure) if draw is None else accompanied(draw, network.structure)
    return company(network.structure)


def _charged(
    network: Sealed, epsilon: float, keep: Path | None, ledger: Path | None, same_as: SameAs | None, *,
    yes: bool, as_json: bool,
) -> StandIn | None:  # fmt: skip
    """One noisy draw of the network, asked about like any other release; `None` if it was charged and no repair mends
    it, which is decided by the noisy values."""
    from gridveil.advice.stand_in import charged, stand_in_plan
    from gridveil.cli.spending import agreed, open_ledger, stages
    from gridveil.errors import Spent
    from gridveil.publish import bundle
    from gridveil.publish.preview import preview
    from gridveil.publish.refuse import check_network
    from gridveil.publish.spending import NOT_CERTIFIED, NOT_REPAIRED

    plan = stand_in_plan(epsilon)
    check_network(plan, network)
    target = None if keep is None else bundle.check_target(keep, force=False)
    book = open_ledger(ledger, as_json)
    confirmed = agreed(preview(network, plan, book, same_as=same_as), yes=yes, as_json=as_json)
    try:
        with stages(as_json) as progress:
            return charged(network, epsilon, book, keep=target, confirmed=confirmed, same_as=same_as, progress=progress)
    except Spent as failure:
        if failure.reason not in (NOT_REPAIRED, NOT_CERTIFIED):
            raise
        say(f"{escape(str(failure))}. So public networks alone are tried on")
        return None


def _existing(path: Path | None) -> Ledger | None:
    """The ledger if there is one: to look into it makes none."""
    from gridveil.privacy.ledger import Ledger, default_path

    where = path or default_path()
    return Ledger.read(where) if Ledger.exists(where) else None


@contextmanager
def _shown(as_json: bool) -> Iterator[Progress]:
    """Say how far trials are: a line that changes on a terminal, a plain line now and then elsewhere."""
    from gridveil.advice.explore import quiet

    if as_json:
        yield quiet
    elif err.is_terminal:
        with err.status("trying") as status:
            yield lambda state: status.update(_words(state))
    else:
        last = -SECONDS

        def tell(state: State) -> None:
            nonlocal last
            if state.seconds - last >= SECONDS:
                last = state.seconds
                say(_words(state))

        yield tell


def _words(state: State) -> str:
    last = "" if state.last is None else f"; last: {state.last.words}"
    table = f", the first table in {state.table / 60:.1f} more" if state.table else ""
    late = ": it will not be complete" if state.table > state.left else ""
    return (
        f"{state.trials} trials in {state.seconds:.0f} s, {state.left / 60:.1f} minutes left{table}{late}{escape(last)}"
    )


def _print(found: Advice) -> None:
    from gridveil.cli.advice_table import table

    out.print(table(found, STAMP))
    out.print(f"goals: {escape(found.goals.words)}")
    out.print(
        f"tried on {escape(' and '.join(found.stand_ins))}, {found.seconds:.0f} s"
        + ("; more time would try nothing new" if found.settled else "")
    )
    if found.best is None:
        out.print(f"[yellow]no recommendation:[/] {escape(found.reason)}")
        return
    out.print(f"[bold]recommended:[/] {escape(found.best.choice.words)}: {escape(found.reason)}")
    out.print(escape(found.command), soft_wrap=True)


def _page() -> Callable[[str, Advice], str]:
    from gridveil.report.page import require

    require("jinja2")
    from gridveil.report.advice import advice_page

    return advice_page
