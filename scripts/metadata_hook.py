"""The description and the links that a package index shows: README.md with absolute links.

A package index shows README.md alone: a relative link leads nowhere there. Where the repository's address is known
(GRIDVEIL_REPOSITORY, which `scripts/release.py` sets) its links are made absolute, at the tag of the version, and the
project's links are stated. Where it is not, nothing is made up: the README stays as it is, and there are no links.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "GRIDVEIL_REPOSITORY"
_ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.~-]+)+")
_LINK = re.compile(
    r"""(?P<before>(?P<image>!?)\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\(\s*|^\[[^\]]+\]:\s+"""
    r"""|<(?P<tag>img|a|source)\b[^>]*?\b(?:src|href|srcset)=["'])(?P<target>[^\s)"'>]+)""",
    re.MULTILINE,
)
_INNER = re.compile(r"(?P<before>!\[[^\]]*\]\(\s*)(?P<target>[^\s)]+)")
_FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_SHOWN = (".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp")


class CustomMetadataHook(MetadataHookInterface):
    """Called by the builder for the fields that pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the description and the links."""
        root, address = Path(self.root), address_of(os.environ)
        text = (root / "README.md").read_text(encoding="utf-8")
        version = f"v{metadata['version']}"
        if address:
            text = absolute(text, address, version, root)
            metadata["urls"] = links(address, version)
        else:
            metadata["urls"] = {}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def address_of(environment: Any) -> str:
    """The repository's address, or nothing; refuses what is no address."""
    given = str(environment.get(REPOSITORY, "")).rstrip("/")
    if given and not _ADDRESS.fullmatch(given):
        raise ValueError(f"{REPOSITORY} is '{given}'; give an address such as https://HOST/OWNER/NAME")
    return given


def links(address: str, version: str) -> dict[str, str]:
    """The project's links."""
    return {
        "Homepage": address,
        "Documentation": f"{address}/tree/{version}/docs",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/{version}/CHANGELOG.md",
    }


def absolute(text: str, address: str, version: str, root: Path) -> str:
    """The text with every relative link made absolute; a link to a file that is not there is an error. What stands in
    fenced blocks is no link."""

    def whole(target: str, *, image: bool) -> str:
        if target.startswith("#") or re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", target):
            return target
        path = target.split("#", maxsplit=1)[0]
        if not (root / path).exists():
            raise ValueError(f"README.md has a link to {path}, which is not there")
        kind = "raw" if image or path.lower().endswith(_SHOWN) else "tree" if (root / path).is_dir() else "blob"
        return f"{address}/{kind}/{version}/{target.removeprefix('./')}"

    def changed(found: re.Match[str]) -> str:
        image = found["image"] == "!" or found["tag"] in {"img", "source"}
        before = _INNER.sub(lambda inner: inner["before"] + whole(inner["target"], image=True), found["before"])
        return before + whole(found["target"], image=image)

    done, parts = 0, list[str]()
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(changed, text[done : fence.start()]), fence[0]]
        done = fence.end()
    return "".join([*parts, _LINK.sub(changed, text[done:])])
