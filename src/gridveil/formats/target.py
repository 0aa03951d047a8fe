"""Where a converted network goes: which format a name asks for, and files written whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gridveil.errors import GridVeilError
from gridveil.files import write_whole
from gridveil.formats.convert import Converted
from gridveil.formats.registry import WRITABLE, Format, by_extension, by_name
from gridveil.packing import packed

_NOT_WRITTEN = {
    ".xml": "CGMES is not written: no two tools read the same network from it",
    ".uct": "UCTE files are not written: they cannot hold a network's numbers",
    ".xiidm": "XIIDM is read, and not written",
}


def target_format(path: Path, name: str | None) -> Format:
    """The format to write: the one that is named, or that of the extension."""
    if name is not None:
        return by_name(name)
    ending = path.suffix.lower()
    if ending in _NOT_WRITTEN:
        raise GridVeilError(f"{_NOT_WRITTEN[ending]}; choose one of {', '.join(WRITABLE)}")
    possible = [one for one in by_extension(path) if one.writer is not None] if ending else []
    if not possible or len({one.content for one in possible}) > 1:
        names = ", ".join(one.name for one in possible) or ", ".join(WRITABLE)
        raise GridVeilError(f"{path} does not say which format it is to have; give --to, one of {names}")
    return possible[0]


def write_converted(path: Path, made: Converted, *, force: bool = False) -> list[Path]:
    """Write the files of a converted network, after a look at all of them; where they went."""
    if not isinstance(made.main, bytes) and path.suffix.lower() == ".zip":
        made = replace(made, main=packed(made.main))
    beside = {path.with_suffix(ending): data for ending, data in made.beside.items()}
    main = (
        {path: made.main} if isinstance(made.main, bytes) else {path / name: data for name, data in made.main.items()}
    )
    files = main | beside
    taken = [one for one in (path, *beside) if one.exists()]
    if taken and not force:
        raise GridVeilError(f"{taken[0]} exists; choose another name or give --force")
    try:
        if not isinstance(made.main, bytes):
            path.mkdir(parents=True, exist_ok=True)
        for place, data in files.items():
            write_whole(place, data)
    except OSError as error:
        raise GridVeilError(f"{path} cannot be written ({error.strerror}); choose another name") from error
    return list(files)
