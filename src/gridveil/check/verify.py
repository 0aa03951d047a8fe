"""`verify`: what anyone can check of a bundle without the secret, what is the publisher's word, and what nobody can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gridveil.casefile import Case
from gridveil.casefile.profile import read_csv_bytes
from gridveil.casefile.read import read_bytes
from gridveil.casefile.to_network import to_network, written_point
from gridveil.check.canonical import (
    check_signature,
    foreign_files,
    foreign_tables,
    foreign_text,
    foreign_words,
    needed_files,
)
from gridveil.check.consistency import foreign_manifest
from gridveil.check.stored import expected_claims, other_claims, other_ends, value_check
from gridveil.check.verdict import Signature, Signed, Verdict
from gridveil.errors import (
    CaseFileError,
    GridError,
    GridVeilError,
    OtherFormat,
    ReleaseError,
    RepairFailed,
    ReportError,
    SolveError,
)
from gridveil.formats.registry import TRANSLATIONS
from gridveil.grid import Network, OperatingPoint
from gridveil.grid.profile import Profile, base_profile, checked_steps
from gridveil.libraries import how_to_install
from gridveil.privacy.signature import PublicKey
from gridveil.publish import bundle
from gridveil.publish.archive import Contents, read_bundle
from gridveil.publish.manifest import Manifest, protection_of, read_manifest
from gridveil.repair.judge import Kept, judge_lines, judge_point, promised
from gridveil.wall.certificate import Certificate, Check, CheckKind, StoredCertificate, true_cost
from gridveil.wall.codec import from_json, to_json
from gridveil.wall.draw import Fidelity, Snapshot
from gridveil.wall.facts import Fact, FactKind

Page = Callable[[Mapping[str, bytes]], str]
"""Makes report.html again from the other files of a bundle."""
NO_SOLVER = "the optimal cost and the steps without a written point: they need a solver, and --quick does without"


def verify(
    path: Path | str,
    *,
    publisher: PublicKey | None = None,
    page: Page | None = None,
    quick: bool = False,
    workers: int = 1,
) -> Verdict:
    """Every check of a bundle, a directory or a .zip.

    `publisher` is the key that must have signed it, `page` makes report.html again. `quick` judges what is written and
    solves nothing; unused steps of a long horizon are solved by so many `workers`.
    """
    return verify_contents(read_bundle(path), publisher=publisher, page=page, quick=quick, workers=workers)


def verify_contents(
    contents: Contents,
    *,
    publisher: PublicKey | None = None,
    page: Page | None = None,
    quick: bool = False,
    workers: int = 1,
) -> Verdict:
    """The same, of a bundle that was read already."""
    data = contents.files[bundle.MANIFEST]
    try:
        record = read_manifest(data)
    except OtherFormat:
        raise
    except ReleaseError as error:
        return Verdict((_count(CheckKind.MANIFEST, [str(error)]),), signature=Signature(Signed.UNCHECKED))
    written = [] if to_json(record).encode() == data else ["it is not written as a release writes it"]
    checks = [_count(CheckKind.MANIFEST, written), _count(CheckKind.FILES, foreign_files(contents, record))]
    signature, faults = check_signature(contents.files, record, publisher)
    checks += [] if faults is None else [_count(CheckKind.SIGNATURE, faults)]
    verdict = Verdict(tuple(checks), record, signature)
    if signature.state is Signed.UNCHECKED:
        verdict = _left_out(verdict, "the signature: it needs the package 'cryptography', or OpenSSL (docs/bundle.md)")
    with np.errstate(all="ignore"):  # a forger's numbers may overflow; what is no number passes no check
        return _judged(verdict, contents, record, page, 0 if quick else workers)


def _judged(verdict: Verdict, contents: Contents, record: Manifest, page: Page | None, workers: int) -> Verdict:
    """What is found of the network and the certificate; without workers nothing is solved."""
    files, promise = contents.files, record.fidelity
    if not needed_files(record) <= set(files):
        return verdict  # which says already that one is missing
    fidelity = Fidelity(promise.beta, promise.bound_factor, promise.loss_within, promise.target)
    try:
        case = read_bytes(contents.path / bundle.NETWORK, files[bundle.NETWORK])
        network = to_network(case)
        profile = _profile(contents, record, network)
        point = written_point(case, network)
        foreign = foreign_tables(case, network, point) or foreign_manifest(network.grid, record, profile)
        snapshots = [] if foreign else _snapshots(record.public_inputs, profile)
        _ = foreign or promised(snapshots, fidelity)
    except RepairFailed as error:
        foreign = [str(error)]
    except (CaseFileError, GridError, ValueError, ArithmeticError) as error:
        return _with(verdict, _count(CheckKind.BYTES, [f"a file cannot be read ({error})"]))
    stored, faults = _stored(files)
    other_bytes = foreign_words(case, files[bundle.NETWORK], record)
    other_bytes += foreign_text(files, network, profile if record.horizon else None, stored)
    verdict = _with(verdict, _count(CheckKind.BYTES, other_bytes), _count(CheckKind.FOREIGN, foreign))
    if foreign:
        return verdict
    if not workers:
        found = _quick(network, point, snapshots, fidelity, record)
        verdict = _left_out(verdict, NO_SOLVER)
    else:
        found = _solved(network, point, snapshots, fidelity, record, profile, workers)
    verdict = _with(verdict, _flows(case, point), *found.checks)
    if stored is not None:
        used = [one.step for one in snapshots]
        unused = checked_steps(profile, used, record.horizon.checked if record.horizon else 0)
        faults = other_claims(stored, expected_claims(snapshots, fidelity, _kept(record)), used, unused)
        faults += [] if stored.truth == found.truth else ["another interval of the true cost"]
        faults += other_ends(stored, found) if workers else []
        verdict = _with(verdict, value_check(stored, found))
    verdict = _with(verdict, _count(CheckKind.STORED, faults))
    verdict = _page_checked(_translated(verdict, files), files, page)
    return replace(verdict, unused=found.unused, truth=found.truth)


def _kept(record: Manifest) -> Kept | None:
    """What a joint release keeps beside its cost."""
    protection = protection_of(record)
    return None if protection is None else Kept(protection, record.public_inputs, record.horizon is None)


def _profile(contents: Contents, record: Manifest, network: Network) -> Profile:
    if record.horizon is None:
        return base_profile(network.grid)
    return read_csv_bytes(contents.path / bundle.PROFILE, contents.files[bundle.PROFILE], network.grid)


def _stored(files: Mapping[str, bytes]) -> tuple[StoredCertificate | None, list[str]]:
    try:
        return from_json(files[bundle.CERTIFICATE], StoredCertificate), []
    except ReleaseError as error:
        return None, [f"it cannot be read ({error})"]


def _solved(
    network: Network,
    point: OperatingPoint,
    snapshots: Sequence[Snapshot],
    fidelity: Fidelity,
    record: Manifest,
    profile: Profile,
    workers: int,
) -> Certificate:
    """The certificate anew, with the AC-OPF of every used step solved from a flat start."""
    # brings what --quick does without
    from gridveil.nlp.ipopt_library import find_library  # noqa: PLC0415
    from gridveil.nlp.solver import SolverOptions  # noqa: PLC0415
    from gridveil.repair.certify import certify  # noqa: PLC0415
    from gridveil.repair.step_workers import in_processes  # noqa: PLC0415
    from gridveil.repair.unused import report_unused  # noqa: PLC0415

    try:
        find_library(SolverOptions().library)
    except (ModuleNotFoundError, SolveError) as error:
        if getattr(error, "status", "no_solver") != "no_solver":  # a library was named, and is not there
            raise
        raise ReleaseError("to solve needs the package 'casadi', for its Ipopt; install it, or give --quick") from None
    alone = tuple(number - 1 for number in record.unprotected_lines)
    points = (point, *[None] * (len(snapshots) - 1))
    found = certify(*network, points, snapshots, fidelity, alone, kept=_kept(record))
    costs = {one.step: one.value for one in record.public_inputs if one.kind is FactKind.UNUSED_COST and one.step}
    steps = checked_steps(profile, [one.step for one in snapshots], record.horizon.checked if record.horizon else 0)
    unused = report_unused(*network, profile, steps, costs, in_processes(workers))
    return replace(found, unused=unused, truth=true_cost(record.public_inputs))


def _quick(
    network: Network, point: OperatingPoint, snapshots: Sequence[Snapshot], fidelity: Fidelity, record: Manifest
) -> Certificate:
    """What of the certificate the written point alone shows."""
    step = snapshots[0].step if len(snapshots) > 1 else None
    alone = [number - 1 for number in record.unprotected_lines]
    checks = [*judge_point(*network, point, snapshots[0], fidelity, step), *judge_lines(*network, alone, _kept(record))]
    return Certificate(tuple(checks), truth=true_cost(record.public_inputs))


def _translated(verdict: Verdict, files: Mapping[str, bytes]) -> Verdict:
    """Files in other formats are those that released.m makes, which are read again and compared when they are made."""
    there = {name: data for name, data in files.items() if name in bundle.TRANSLATED}
    if not there:
        return verdict
    # brings readers and writers, which a bundle without such files does without
    from gridveil.formats.translate import translate  # noqa: PLC0415

    forms = [name for name, file in TRANSLATIONS.items() if file in there]
    try:
        again = translate(files[bundle.NETWORK], forms)
    except GridVeilError as error:
        return _with(verdict, _count(CheckKind.TRANSLATED, [f"they cannot be made again ({error})"]))
    wrong = [f"{name} is not made from {bundle.NETWORK}" for name in there if there[name] != again.get(name)]
    wrong += [f"{name} is missing" for name in again if name not in there]
    return _with(verdict, _count(CheckKind.TRANSLATED, wrong))


def _page_checked(verdict: Verdict, files: Mapping[str, bytes], page: Page | None) -> Verdict:
    """The page is what the other files make of it, or nobody should open it."""
    if bundle.REPORT not in files:
        return verdict
    missing = f"{bundle.REPORT}: it needs the package 'jinja2' ({how_to_install('verify')}); do not trust the page"
    if page is None:
        return _left_out(verdict, missing)
    try:
        same = page(files).encode() == files[bundle.REPORT]
    except ReportError:
        return _left_out(verdict, missing)
    except Exception:  # noqa: BLE001 - files of which nobody foresaw that they make no page make no page
        same = False
    return _with(
        verdict, _count(CheckKind.REPORT, [] if same else ["it is not the page of this release: do not open it"])
    )


def _snapshots(facts: Sequence[Fact], profile: Profile) -> list[Snapshot]:
    losses = {one.step: one.value for one in facts if one.kind is FactKind.LOSSES}
    result = []
    for one in facts:
        if one.kind is FactKind.COST and one.step is not None:
            index = one.step - int(profile.step[0])
            demand = profile.pd[index], profile.qd[index]
            result.append(Snapshot(*demand, one.value, one.step, one.slack, losses.get(one.step)))
    return result


def _flows(case: Case, point: OperatingPoint) -> Check:
    flows = np.stack([point.pf, point.qf, point.pt, point.qt], axis=1) * case.base_mva
    wrong = float(np.max(np.abs(case.branch[:, 13:17] - flows), initial=0.0)) / case.base_mva
    return Check(CheckKind.FLOWS, wrong if np.isfinite(wrong) else None, 1e-6, wrong <= 1e-6)


def _with(verdict: Verdict, *checks: Check) -> Verdict:
    return replace(verdict, checks=(*verdict.checks, *checks))


def _left_out(verdict: Verdict, words: str) -> Verdict:
    return replace(verdict, not_checked=(*verdict.not_checked, words))


def _count(kind: CheckKind, faults: Sequence[str]) -> Check:
    return Check(kind, float(len(faults)), 0.0, not faults, detail="; ".join(faults[:3]))
