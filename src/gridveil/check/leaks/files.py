"""The leak check of files and bundles: what is released is read with the manifest that stands beside it. INTERNAL."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from gridveil.casefile import Case
from gridveil.casefile.read import read_bytes
from gridveil.check.leaks.leakcheck import leakcheck as check_cases
from gridveil.check.leaks.verdict import LeakReport
from gridveil.errors import OtherFormat, ReleaseError
from gridveil.formats.find import read_case
from gridveil.grid import Network
from gridveil.publish.archive import read_bundle
from gridveil.publish.bundle import MANIFEST, NETWORK, is_archive
from gridveil.publish.manifest import Manifest, read_manifest


class Released(NamedTuple):
    """A released case, and its manifest if it has one."""

    case: Case
    manifest: Manifest | None


def leakcheck(original: str | Path | Case | Network, *released: Any) -> LeakReport:
    """See how well attackers with public data tell true numbers from what was released. INTERNAL.

    Args:
        original: The true network: a file, a shipped case's name, a `Case` or a `Network`.
        *released: Bundles (directories or .zip), released files, cases or releases; several are read together, as by
            someone who has them all.

    Returns:
        A row per attacker, and a verdict: `clean`, `weak` or `leaks`.

    Raises:
        ReleaseError: There is no release, or one of another network.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> found = gv.leakcheck("case14_ieee", made)
        >>> found.verdict in ("clean", "weak", "leaks"), found.best_error <= found.noise_error
        (True, True)
    """
    found = [read_released(one) for one in released]
    truth = original if isinstance(original, Case | Network) else read_case(original)
    return check_cases(truth, [one.case for one in found], [one.manifest for one in found])


def read_released(one: Any) -> Released:
    """A released file, bundle, case or release."""
    if isinstance(one, Case):
        return Released(one, None)
    if not isinstance(one, str | Path):  # a release: what is written of it is what others have
        return Released(read_bytes(NETWORK, one.text.encode()), one.manifest)
    if is_archive(Path(one)):
        files = read_bundle(one).files
        return Released(read_bytes(f"{one}/{NETWORK}", files.get(NETWORK, b"")), _manifest(str(one), files[MANIFEST]))
    path = Path(one) / NETWORK if Path(one).is_dir() else Path(one)
    beside = path.with_name(MANIFEST)
    if path.name != NETWORK or not beside.is_file():
        return Released(read_case(path), None)
    return Released(read_case(path), _manifest(str(beside), beside.read_bytes()))


def _manifest(name: str, data: bytes) -> Manifest:
    try:
        return read_manifest(data)
    except OtherFormat:
        raise
    except ReleaseError as error:
        raise ReleaseError(f"{name} cannot be read as a manifest ({error}); check the release with verify") from error
