"""A released network in other formats: made from the bytes of its file in a process that has seen nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from subprocess import TimeoutExpired

from gridveil import cases
from gridveil.errors import ReleaseError
from gridveil.formats.archive import archive_files
from gridveil.formats.registry import TRANSLATIONS
from gridveil.process.start import isolated

SECONDS = 900.0
"""A process that takes longer is given up; 78,484 buses take 20 s."""


def chosen(text: str | None) -> tuple[str, ...]:
    """The formats that `--to` names, in the order of the table."""
    wanted = [] if text is None else [one.strip() for one in text.split(",") if one.strip()]
    for one in wanted:
        if one not in TRANSLATIONS:
            raise ReleaseError(
                f"a release is not written as '{one}'; --to takes {', '.join(TRANSLATIONS)}, with commas"
            )
    return tuple(one for one in TRANSLATIONS if one in wanted)


def rehearse(names: Sequence[str]) -> None:
    """Translate a small public network: what keeps a process from it is met before anything is charged."""
    path = cases.path("case3_lmbd")
    if names and path is not None:
        translations(path.read_bytes(), names)


def translations(released: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """Files by their names in a bundle."""
    if not names:
        return {}
    try:
        process = isolated("gridveil.formats.translate")
    except (OSError, ValueError) as error:
        raise ReleaseError(f"the translating process cannot be started: {error}") from error
    with process:
        try:
            answer, words = process.communicate(" ".join(names).encode() + b"\n" + released, SECONDS)
        except TimeoutExpired:
            process.kill()
            raise ReleaseError("the translating process was given up: it takes too long") from None
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        said = words.decode(errors="replace").strip()[-400:]
        raise ReleaseError(f"the network was not translated: {said or f'the process ended with {process.returncode}'}")
    return archive_files(Path("translations.zip"), answer)
