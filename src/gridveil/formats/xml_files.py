"""XIIDM and CGMES files, held against bombs and other tricks before pypowsybl's parser sees them."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

from gridveil.errors import CaseFileError
from gridveil.formats.imported import Imported
from gridveil.formats.powsybl import imported
from gridveil.libraries import needed
from gridveil.regular import refuse_size

CANNOT_HOLD = ("XIIDM and CGMES are read, not written",)
MOST_FILES = 64
_DECLARED = re.compile(rb"\A\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9_.-]+)[\"']")
_CODINGS = (b"utf-8", b"utf8", b"us-ascii", b"iso-8859-1")


def read(path: Path, data: bytes | Mapping[str, bytes]) -> Imported:
    """The network in an XIIDM file, or in a `.zip` or folder of CGMES files."""
    files = data if isinstance(data, Mapping) else _unpacked(path, data) if data[:2] == b"PK" else {path.name: data}
    for name, content in files.items():
        _check_xml(path, name, content)
    return imported(_loaded(path, files), path)


def _unpacked(path: Path, data: bytes) -> dict[str, bytes]:
    """The files of an archive, up to the limit of input files; a path that leads out of it is refused."""
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if len(infos) > MOST_FILES:
                raise CaseFileError(path, None, f"there are more than {MOST_FILES} files", "give those of one network")
            refuse_size(path, sum(info.file_size for info in infos))
            for info in infos:
                place = PurePosixPath(info.filename)
                if place.is_absolute() or ".." in place.parts or "\\" in info.filename or place.name in found:
                    raise CaseFileError(
                        path, None, "the archive has a path that leads out of it, or a name that stands twice",
                        "do not trust this file",
                    )  # fmt: skip
                with archive.open(info) as stream:
                    found[place.name] = stream.read(info.file_size + 1)[: info.file_size]
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error):
        raise CaseFileError(path, None, "the archive cannot be unpacked", "the file looks damaged") from None
    return found


def _check_xml(path: Path, name: str, content: bytes) -> None:
    """Only plain XML: no document type, whose entities may be bombs or read other files, nor a coding that hides it."""

    def fail(problem: str, advice: str) -> None:
        raise CaseFileError(path, None, f"{name}: {problem}", advice)

    text = content.removeprefix(b"\xef\xbb\xbf")
    if text.lstrip()[:1] != b"<" or b"\0" in text[:4096]:
        fail("it is not XML in UTF-8", "save it as UTF-8")
    declared = _DECLARED.match(text)
    if declared and declared[1].lower() not in _CODINGS:
        fail("its coding is none that is read", "save it as UTF-8")
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        fail("it has a document type, which no network file needs and bombs are made of", "do not trust this file")
    try:  # pypowsybl's parser would complain on the terminal, and without a line
        expat.ParserCreate().Parse(content, True)
    except expat.ExpatError as error:
        raise CaseFileError(
            path, error.lineno, f"{name}: this is not XML", "the file looks truncated or damaged"
        ) from None


def _loaded(path: Path, files: Mapping[str, bytes]) -> Any:
    library = needed("pypowsybl", "cgmes")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    try:
        return library.network.load_from_binary_buffer(packed)
    except library.PyPowsyblError:
        raise CaseFileError(
            path, None, "pypowsybl cannot read this as XIIDM or CGMES", "give a file that a tool exported, whole"
        ) from None
