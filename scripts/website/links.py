"""Links of the repository, as they stand in its pages, led to where they are in the site."""

from __future__ import annotations

import posixpath
import re

LINK = re.compile(r"(!?)\[([^\]\n]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files outside docs/ that are pages of the site."""


def led(text: str, file: str) -> str:
    """The text of a page; `file` is where it stands in the repository. Code is left as it is."""
    parts = FENCE.split(text)
    return "".join(part if part.startswith("`") else LINK.sub(lambda one: _link(one, file), part) for part in parts)


def _link(found: re.Match[str], file: str) -> str:
    mark, words, target, anchor = found[1], found[2], found[3], found[4] or ""
    there = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    if there.startswith("docs/notebooks/") and there.endswith(".py"):
        page = there.removeprefix("docs/").removesuffix(".py") + ".md"
    elif there.startswith("docs/"):
        page = there.removeprefix("docs/")
    elif there in PAGES:
        page = PAGES[there]
    elif there.startswith("examples/"):
        page, anchor = "examples.md", "#" + posixpath.basename(there).removesuffix(".py").replace("_", "-")
    else:
        return words if words.strip("`") == there else f"{words} (`{there}`)"
    return f"{mark}[{words}]({posixpath.relpath(page, posixpath.dirname(_page(file)) or '.')}{anchor})"


def _page(file: str) -> str:
    """Where a file of the repository is in the site."""
    return PAGES.get(file) or file.removeprefix("docs/")
