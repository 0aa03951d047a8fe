"""`read_any(path)`: a network in whatever format. The extension decides, and the content where it leaves a choice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gridveil.errors import CaseFileError, GridVeilError
from gridveil.formats import recognise
from gridveil.formats.archive import archive_files, folder_files
from gridveil.formats.imported import Imported
from gridveil.formats.lend import lend
from gridveil.formats.registry import FORMATS, REFUSED, Format, by_extension, by_name
from gridveil.regular import regular_bytes

MISSING = "check the path, or list shipped cases with 'gridveil cases'"


def read_any(
    path: Path | str,
    form: str | None = None,
    costs: Path | str | None = None,
    limits: Path | str | None = None,
    missing_cost: float | None = None,
) -> Imported:
    """The network of a file or folder, of the format `form` if that is given, with costs and limits lent to it.

    `costs` and `limits` are files as `formats.lend` has them; those that lie beside the case are found by their names.
    """
    path = Path(path)
    return lend(_read(path, None if form is None else by_name(form)), path, costs, limits, missing_cost)


def _read(path: Path, form: Format | None) -> Imported:
    if os.path.isdir(path):  # unlike Path.is_dir it says no where the name itself is impossible
        files = folder_files(path)
        form = form or _of_files(files)
        if "folder" not in form.content:
            raise CaseFileError(path, None, f"this is a folder, and {form.words} is one file", "give the file")
        return form.read()(path, files)
    if form is None and (why := REFUSED.get(path.suffix.lower())):
        raise CaseFileError(path, None, why, "convert it to PSS/E RAW or MATPOWER with the tool that wrote it")
    data = regular_bytes(path, MISSING)
    kind = recognise.content(data)
    named, form = form is not None, form or _by_content(path, data, kind)
    if kind is not None and not any(one.split()[0] == kind for one in form.content):
        raise CaseFileError(
            path, None, f"it should be {form.words}, and its content is {recognise.WORDS[kind]}",
            "correct its extension, or say what it is with --from",
        )  # fmt: skip
    if kind == "zip":
        files = archive_files(path, data)
        return (form if named else _of_files(files)).read()(path, files)
    return form.read()(path, data)


def _of_files(files: Mapping[str, bytes]) -> Format:
    """The format of a folder or archive: CGMES is XML."""
    return by_name("cgmes" if any(name.lower().endswith(".xml") for name in files) else "pypsa")


def _by_content(path: Path, data: bytes, kind: str | None) -> Format:
    """The format of a file by its name, and by what is in it where several have such names."""
    possible = tuple(one for one in by_extension(path) if path.suffix)
    if not possible:
        possible = tuple(one for one in FORMATS if kind is not None and kind in {w.split()[0] for w in one.content})
    if not possible:
        names = ", ".join(sorted({ending for one in FORMATS for ending in one.extensions if ending}))
        raise CaseFileError(path, None, "the extension says nothing", f"the formats are {names}; or use --from")
    if len({one.reader for one in possible}) == 1 or kind != "json":
        return possible[0]
    exact = recognise.json_kind(path, data)
    found = [one for one in possible if exact in one.content]
    if not found:
        raise GridVeilError(f"{path}: {recognise.WORDS[exact]} is not read from such a file; use --from")
    return found[0]
