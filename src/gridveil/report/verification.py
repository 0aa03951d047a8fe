"""`verify` with the page: what `check.verify` finds, and report.html made again."""

from __future__ import annotations

from pathlib import Path

from gridveil.check.verdict import Verdict
from gridveil.check.verify import verify as verify_files
from gridveil.privacy.signature import PublicKey, read_public_key
from gridveil.report.public import page_again


def verify(
    path: Path | str, *, publisher: PublicKey | Path | str | None = None, quick: bool = False, workers: int = 1
) -> Verdict:
    """Check a bundle without the secret.

    Args:
        path: A directory or a .zip.
        publisher: The key that must have signed it, or its .pub file.
        quick: Judge what is written, without a solver.
        workers: Processes that solve the unused steps of a long horizon.

    Returns:
        What was recomputed, what is the publisher's word, and what nobody can check.

    Raises:
        ReleaseError: There is no bundle, or one of a format that this version does not read.

    Examples:
        >>> from tempfile import mkdtemp
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> verdict = gv.verify(made.write(mkdtemp() + "/bundle"))
        >>> verdict.passed, verdict.private
        (True, False)
    """
    key = publisher if publisher is None or isinstance(publisher, PublicKey) else read_public_key(Path(publisher))
    return verify_files(path, publisher=key, page=page_again, quick=quick, workers=workers)
