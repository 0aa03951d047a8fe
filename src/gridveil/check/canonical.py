"""Which files of a bundle are, byte for byte, what a release writes: nothing in comments, spaces or unread columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gridveil.casefile import Case
from gridveil.casefile import columns as c
from gridveil.casefile.from_network import from_network
from gridveil.casefile.labels import IDS, NAMES, labels
from gridveil.casefile.profile import profile_text
from gridveil.casefile.write import to_text
from gridveil.check.verdict import Signature, Signed
from gridveil.errors import PrivacyError
from gridveil.grid import Network, OperatingPoint
from gridveil.grid.profile import Profile
from gridveil.privacy.signature import PublicKey, can_sign, key_from_text
from gridveil.publish import bundle
from gridveil.publish.archive import Contents, shown
from gridveil.publish.describe import file_notes, scrubbed
from gridveil.publish.labels import fit_label
from gridveil.publish.manifest import Manifest, ids_kept, protection_of
from gridveil.wall.certificate import StoredCertificate
from gridveil.wall.codec import to_json

SAME = 1e-11
"""Relative, of released.m: numbers go from file units to per unit and back, and keep twelve digits."""
EARLIER_WIDTH = 10
"""Columns of the generator table in bundles of earlier versions."""
FLOWS = 13
"""From this column on a branch has its flows, which `verify` judges by themselves."""


def needed_files(record: Manifest) -> set[str]:
    """What a bundle holds beside its manifest, at least."""
    return {bundle.NETWORK, bundle.CERTIFICATE, *([bundle.PROFILE] if record.horizon else [])}


def foreign_files(contents: Contents, record: Manifest) -> list[str]:
    """Files that the manifest does not know, that are not there, or whose digest is another."""
    files, digests = contents.files, record.sha256.by_name
    needed = needed_files(record)
    there = set(files) - {bundle.MANIFEST, bundle.SIGNATURE}
    faults = list(contents.faults)
    faults += [f"{name} is missing" for name in sorted((needed | (set(digests) & set(bundle.FILES))) - there)]
    possible = needed | {bundle.REPORT, *bundle.TRANSLATED}
    faults += [f"{shown(name)} is no file of this bundle" for name in sorted((there | set(digests)) - possible)]
    faults += [f"{name} has no digest in the manifest" for name in sorted(there - set(digests))]
    return faults + [
        f"{name} has another digest"
        for name in sorted(there & set(digests))
        if digests[name] != bundle.digest(files[name])
    ]


def check_signature(
    files: Mapping[str, bytes], record: Manifest, named: PublicKey | None
) -> tuple[Signature, list[str] | None]:
    """Who signed, and what is wrong with it; `None` instead of faults where there is nothing to check."""
    stated, made = record.public_key, files.get(bundle.SIGNATURE)
    if stated is None:
        return _without_key(made, named)
    try:
        key = key_from_text(stated)
    except PrivacyError as error:
        return Signature(Signed.WRONG), [str(error)]
    if made is None:
        fault = "the manifest names a key, but the signature was taken away"
    elif named is None and not can_sign():
        return Signature(Signed.UNCHECKED, key.fingerprint), None
    elif not key.signed(files[bundle.MANIFEST], made):
        fault = "it is not the key's signature of this manifest"
    elif named is not None and key != named:
        fault = f"it is signed by {key.fingerprint}, and you named {named.fingerprint}"
    else:
        return Signature(Signed.UNNAMED if named is None else Signed.NAMED, key.fingerprint), []
    return Signature(Signed.WRONG, key.fingerprint), [fault]


def _without_key(made: bytes | None, named: PublicKey | None) -> tuple[Signature, list[str] | None]:
    if made is not None:
        return Signature(Signed.WRONG), ["there is a signature, but the manifest names no key"]
    return Signature(Signed.UNSIGNED), None if named is None else ["it is unsigned, and you named a key"]


def foreign_tables(case: Case, network: Network, point: OperatingPoint) -> list[str]:
    """Tables of released.m that are not those of the network in it: elements out of service, columns nobody reads."""
    again = from_network("released", *network, point)
    if case.gen.shape[1] == EARLIER_WIDTH:
        again = _earlier(again)
    faults = []
    # breakpoints of piecewise costs are where lines meet, which costs digits
    for name, rtol, atol in (("bus", SAME, 0.0), ("gen", SAME, 0.0), ("branch", SAME, 0.0), ("gencost", 1e-6, 1e-6)):
        mine, theirs = getattr(again, name), getattr(case, name)
        same = mine.shape == theirs.shape
        if not same or not np.allclose(mine[:, :FLOWS], theirs[:, :FLOWS], rtol=rtol, atol=atol, equal_nan=True):
            faults.append(f"elements out of service or other columns in mpc.{name}")
    return faults


def _earlier(case: Case) -> Case:
    """The tables as earlier versions wrote them: generators without ramp rates, transformers of ratio 1 with 0."""
    branch = case.branch.copy()
    branch[(branch[:, c.RATIO] == 1) & (branch[:, c.SHIFT] == 0), c.RATIO] = 0
    return replace(case, gen=case.gen[:, :EARLIER_WIDTH], branch=branch)


def foreign_words(case: Case, text: bytes, record: Manifest) -> list[str]:
    """What stands in released.m beside its tables: comments, spaces, other fields, another name."""
    step = record.horizon.step_in_network_file if record.horizon else None
    notes = file_notes(private=record.privacy.differentially_private, step=step, protection=protection_of(record))
    ids = ids_kept(record)
    kept = record.scrubbed == scrubbed(names_kept=True, ids_kept=ids)
    wanted = {*(NAMES if kept else ()), *(IDS if ids else ())}
    found = labels(case)
    if set(case.extras) != wanted or any(getattr(found, name) is None for name in wanted):
        return [f"{bundle.NETWORK}: fields that no release has"]
    if not all(fit_label(text) for name in wanted for text in getattr(found, name)):
        return [f"{bundle.NETWORK}: names or ids that do not show all they hold"]
    if to_text(replace(case, name="released"), notes).encode() != text:
        return [f"{bundle.NETWORK}: comments or other things that no release writes"]
    return []


def foreign_text(
    files: Mapping[str, bytes], network: Network, profile: Profile | None, stored: StoredCertificate | None
) -> list[str]:
    """Which of profile and certificate have other bytes than a release gives them."""
    wanted = dict[str, str]()
    if profile is not None:
        wanted[bundle.PROFILE] = profile_text(network.grid, profile)
    if stored is not None:
        wanted[bundle.CERTIFICATE] = to_json(stored)
    return [f"{name}: not as a release writes it" for name, text in wanted.items() if files[name] != text.encode()]
