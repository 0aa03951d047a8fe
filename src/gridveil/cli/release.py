"""`gridveil release CASE`: a differentially private, AC-feasible, faithful network, with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.cli.delivery import delivery
from gridveil.cli.options import (
    CaseArgument,
    CostsOption,
    JsonOption,
    LedgerOption,
    LimitsOption,
    MissingCostOption,
    SameAsOption,
    WorkersOption,
)
from gridveil.cli.output import print_json, reporting, telling
from gridveil.cli.release_options import (
    BoundOption,
    CostSensitivityOption,
    CostShareOption,
    EffortOption,
    MechanismOption,
    ProtectOption,
    RatingsOption,
    RoomOption,
    TargetOption,
    TotalsOption,
    chosen_noise,
    given_alphas,
    given_case,
    kept,
    published_totals,
)
from gridveil.errors import ReleaseError
from gridveil.wall.facts import SENSITIVITY, SHARE
from gridveil.wall.target import EFFORT, Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from gridveil.privacy.ledger import Ledger
    from gridveil.privacy.signature import PrivateKey
    from gridveil.publish.manifest import Publisher
    from gridveil.publish.release import Release
    from gridveil.repair.unused import Hands


def release(
    context: typer.Context,
    case: CaseArgument,
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The bundle: a directory, or one file that ends in .zip."),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(help="Privacy budget: a change as large as alpha changes anybody's odds e^epsilon-fold at most."),
    ] = 1.0,
    alpha: Annotated[
        str,
        typer.Option(
            help="What is protected: 0.1 or 10% for log (a line 10 % longer then costs 0.95 epsilon, its reactance "
            "alone 2.8; --dry-run lists more), 0.1 or 0.1pu for the others. Larger protects more."
        ),
    ] = "0.1",
    beta: Annotated[
        str,
        typer.Option(
            help="How far the optimal cost may lie from the public one: 0.01 or 1%. Smaller is more faithful."
        ),
    ] = "0.01",
    mechanism: MechanismOption = "log",
    protect: ProtectOption = "lines",
    alpha_lines: Annotated[str | None, typer.Option(help="An alpha of their own for lines.")] = None,
    alpha_ratings: Annotated[str | None, typer.Option(help="For ratings.")] = None,
    alpha_loads: Annotated[str | None, typer.Option(help="For loads.")] = None,
    alpha_limits: Annotated[str | None, typer.Option(help="For limits of units.")] = None,
    alpha_costs: Annotated[str | None, typer.Option(help="For generation costs.")] = None,
    ratings: RatingsOption = "own",
    cost_classes: Annotated[
        bool, typer.Option("--cost-classes", help="Units with equal cost curves share one draw, as one element.")
    ] = False,
    totals: TotalsOption = "private",
    published_total: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=VALUE", help="demand=6254 (MW), capacity=7367 (MW) or merit_order_cost=134000."),
    ] = None,
    room: RoomOption = 0.0,
    shape_public: Annotated[
        bool, typer.Option("--shape-public", help="The profile moves each load for itself, and that is public.")
    ] = False,
    ledger: LedgerOption = None,
    cost: Annotated[
        str | None,
        typer.Option(
            help="Where the public dispatch cost comes from: private (noised and charged, the default), derived (from "
            "the noisy lines, nothing asked), declared (4 digits without noise: epsilon is then conditional)."
        ),
    ] = None,
    published_cost: Annotated[
        list[float] | None, typer.Option(help="The dispatch cost, if it is public already; once per used step.")
    ] = None,
    cost_share: CostShareOption = SHARE,
    cost_sensitivity: CostSensitivityOption = SENSITIVITY,
    unattended: Annotated[
        bool,
        typer.Option(
            "--unattended", help="For requests of others: no refusal and no exit code depends on the original network."
        ),
    ] = False,
    target: TargetOption = Target.DRAWN,
    effort: EffortOption = EFFORT,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Demand of a horizon, CSV or Parquet: step, bus, p_mw, q_mvar or step, scale."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps of the profile to use, equally spaced.")] = None,
    declare_unused: Annotated[
        bool,
        typer.Option(
            "--declare-unused", help="State the costs of unused steps too, without noise: epsilon is then conditional."
        ),
    ] = False,
    check_steps: Annotated[
        int | None,
        typer.Option(min=0, help="Solve and report only so many of the unused steps, equally spaced; else all."),
    ] = None,
    workers: WorkersOption = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Dask scheduler (tls://host:8786) that solves them instead."),
    ] = None,
    loss_within: Annotated[float | None, typer.Option(help="Keep active losses within this factor too.")] = None,
    bound_factor: BoundOption = 50.0,
    keep: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Make public as they are: names (of buses), ids (of branches and units)."),
    ] = None,
    costs: CostsOption = None,
    limits: LimitsOption = None,
    missing_cost: MissingCostOption = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMATS",
            help="Other formats beside released.m: psse33, psse35, rawx, mat, powermodels, egret, pandapower, pypsa.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing bundle.")] = False,
    with_report: Annotated[
        bool, typer.Option("--report", help="Put report.html into the bundle: the release in plain words. Public.")
    ] = False,
    publisher: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who publishes; stands in the manifest.")
    ] = None,
    contact: Annotated[str | None, typer.Option(metavar="TEXT", help="Where to write to the publisher.")] = None,
    licence: Annotated[str | None, typer.Option(metavar="TEXT", help="Under which licence it is published.")] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the bundle with a key that 'gridveil key new' made.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be spent and stay public; draw nothing.")
    ] = False,
    research: Annotated[bool, typer.Option("--research", help="Seeded noise for studies: NOT private.")] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of the noise; only with --research.")] = None,
    same_as: SameAsOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without being asked, whatever looks like a slip.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Release CASE: charge the ledger, draw once, repair behind the wall, certify, write the bundle."""
    with reporting(as_json):
        from gridveil.casefile.profile import read_profile
        from gridveil.casefile.to_network import to_network
        from gridveil.cli import release_table
        from gridveil.cli.dry_run import print_dry_run
        from gridveil.cli.spending import agreed, open_ledger, stages
        from gridveil.publish import bundle, pipeline
        from gridveil.publish.plan import Plan
        from gridveil.publish.preview import asked_too, preview
        from gridveil.publish.refuse import check_labels, check_network
        from gridveil.publish.same_as import read_same_as
        from gridveil.publish.translations import chosen, rehearse
        from gridveil.sealed.split import split

        names_kept, ids_kept = kept(keep)
        formats = chosen(to)
        original, invented, exposed = given_case(case, costs, limits, missing_cost)
        plan = Plan(
            epsilon,
            alpha,
            beta,
            mechanism,
            bound_factor,
            published_cost or None,
            loss_within,
            names_kept,
            steps,
            declare_unused,
            cost,
            cost_share,
            cost_sensitivity,
            unattended,
            target,
            effort,
            check_steps,
            protect,
            given_alphas(
                lines=alpha_lines, ratings=alpha_ratings, loads=alpha_loads, limits=alpha_limits, costs=alpha_costs
            ),
            ratings,
            cost_classes,
            totals,
            published_totals(published_total),
            room=room,
            shape_public=shape_public,
            keep_ids=ids_kept,
            invented_cost=invented,
        )
        noise = chosen_noise(research, seed)
        network = split(original)
        check_network(plan, network)
        check_labels(plan, network.labels)
        horizon = None if profile is None else read_profile(profile, to_network(original).grid)
        used = plan.used(1 if horizon is None else len(horizon))
        known = None if same_as is None else read_same_as(same_as, network.structure, network.labels.bus_name)
        if dry_run:
            seen = asked_too(preview(network, plan, _existing(ledger), same_as=known), plan, exposed)
            print_dry_run(case, plan, seen, len(used), 1 if horizon is None else len(horizon), as_json=as_json)
            return
        if out_dir is None:
            raise ReleaseError("--out is missing: give the directory of the bundle, or --dry-run")
        target_dir = bundle.check_target(out_dir, force=force)
        page = _page() if with_report else None
        key = None if sign is None else _key(sign)
        who = _publisher(publisher, contact, licence)
        rehearse(formats)
        book = None
        if noise is None:
            book = open_ledger(ledger, as_json)
            seen = asked_too(preview(network, plan, book, same_as=known), plan, exposed)
            yes = agreed(seen, yes=yes, as_json=as_json)

        hands = _hands(workers, scheduler)
        deliver, written = delivery(context, target_dir, who, page, formats, {"force": force, "sign": key})
        with stages(as_json) as progress:
            made = pipeline.release(
                network, plan, book, noise, profile=horizon, deliver=deliver, confirmed=yes, same_as=known,
                progress=progress, hands=hands,
            )  # fmt: skip
    with telling():
        where = out_dir if written == [target_dir] else written[0]
        if as_json:
            print_json(release_table.release_record(where, made))
        else:
            release_table.print_release(case, where, made)


def _hands(workers: int, scheduler: str | None) -> Hands:
    """Who solves the unused steps, found before anything is charged: they see the released network and nothing else."""
    if scheduler is None:
        from gridveil.repair.step_workers import in_processes

        return in_processes(workers)
    from gridveil.study.steps import on_cluster

    return on_cluster(scheduler)


def _publisher(name: str | None, contact: str | None, licence: str | None) -> Publisher | None:
    """Checked before anything is charged."""
    from gridveil.publish.release import publisher as publisher_words

    if name is not None:
        return publisher_words(name, contact, licence)
    if contact is not None or licence is not None:
        raise ReleaseError("--contact and --licence are those of a publisher; give --publisher too")
    return None


def _existing(path: Path | None) -> Ledger | None:
    """The ledger if there is one: to look into it makes none."""
    from gridveil.privacy.ledger import Ledger, default_path

    where = path or default_path()
    return Ledger.read(where) if Ledger.exists(where) else None


def _key(file: Path) -> PrivateKey:
    from gridveil.privacy.signature import read_private_key

    return read_private_key(file)


def _page() -> Callable[[Release], str]:
    """What makes the report, found before anything is charged."""
    from gridveil.report.page import require
    from gridveil.report.public import public_report

    require("jinja2")
    return public_report
