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
    """Check a bundle, a directory or a .zip, without the secret.

    `publisher` is the key that must have signed it, or its .pub file; `quick` judges what is written, without a solver;
    `workers` are the processes that solve the unused steps of a long horizon.
    """
    key = publisher if publisher is None or isinstance(publisher, PublicKey) else read_public_key(Path(publisher))
    return verify_files(path, publisher=key, page=page_again, quick=quick, workers=workers)
