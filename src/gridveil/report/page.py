"""Pages and files: templates filled with everything escaped, data that can stand in a script, targets checked."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridveil.errors import ReportError
from gridveil.files import write_whole
from gridveil.libraries import how_to_install


def check_file(path: Path, endings: tuple[str, ...], results: Path, *, force: bool) -> None:
    """Refuse a target that has another ending, exists, has no directory or is among the results, before any work."""
    if path.suffix.lower() not in endings:
        raise ReportError(f"cannot write '{path.name}'; give a file that ends in {', '.join(endings)}")
    if path.is_dir():
        raise ReportError(f"{path} is a directory; give a file")
    if path.exists() and not force:
        raise ReportError(f"{path} exists; choose another file or give --force")
    if path.resolve().is_relative_to(results.resolve()):
        raise ReportError(f"{path} is inside {results}, which is for results alone; choose a place beside it")
    if not path.absolute().parent.is_dir():
        raise ReportError(f"there is no directory {path.absolute().parent}; make it or choose another file")


def save(path: Path, content: str | bytes) -> None:
    """Write a checked target whole."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from None


def safe_json(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def plotly_script() -> str:
    """The library that draws, as text to stand in the page."""
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise missing("plotly") from None
    text = str(get_plotlyjs())
    if "</script" in text.lower():
        raise ReportError("this version of plotly cannot stand in a page; install plotly 6 or 7")
    return text


def render(template: str, **values: Any) -> str:
    """Fill one of this room's templates; everything is escaped unless the template says otherwise."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("jinja2") from None

    def load(name: str) -> str:
        return (files("gridveil.report") / name).read_text(encoding="utf-8")

    environment = Environment(
        loader=FunctionLoader(load), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return str(environment.get_template(template).render(**values)) + "\n"


def missing(package: str) -> ReportError:
    """What to say when an extra is not there."""
    return ReportError(f"reports need {package}; {how_to_install('report')}")


def require(package: str) -> None:
    """Fail now, in words, if an extra is not there."""
    if find_spec(package) is None:
        raise missing(package)
