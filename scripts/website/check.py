"""What is wrong with a built site: links that lead nowhere, ids that are there twice, and anything from the network.

python scripts/website/check.py build/site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
"""Elements whose address is loaded with the page, and the attribute that has it."""
NOT_FETCHED = {"canonical", "next", "prev", "edit"}
FROM_CSS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class _Page(HTMLParser):
    """Ids of a page, where its links lead, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = list[str]()
        self.links = list[str]()
        self.loads = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        address = given.get(FETCHED.get(tag, ""))
        if address and not set(str(given.get("rel", "")).split()) & NOT_FETCHED:
            self.loads.append(address)


def problems(site: Path) -> list[str]:
    """A sentence for everything that is wrong."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    found = list[str]()
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        found += [
            f"{name}: the id {one} is there twice" for one in sorted({i for i in page.ids if page.ids.count(i) > 1})
        ]
        for link in page.links + page.loads:
            if (wrong := _wrong(link, path, pages, site)) is not None:
                found.append(f"{name}: {link} {wrong}")
        found += [f"{name}: {one} is loaded from the network" for one in page.loads if _elsewhere(one)]
    for style in sorted(site.rglob("*.css")):
        words = FROM_CSS.findall(style.read_text(encoding="utf-8"))
        found += [f"{style.name}: {one} is loaded from the network" for one in words]
    return found


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _elsewhere(address: str) -> bool:
    return address.startswith(("http:", "https:", "//"))


def _wrong(link: str, path: Path, pages: dict[Path, _Page], site: Path) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    base = site if parts.path.startswith("/") else path.parent
    there = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    there = there / "index.html" if there.is_dir() else there
    if not there.exists():
        return "leads nowhere"
    if parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].ids:
        return "leads to a place that is not there"
    return None


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "every link leads somewhere, and nothing comes from the network")
    sys.exit(bool(wrong))
