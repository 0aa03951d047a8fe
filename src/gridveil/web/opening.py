"""Open: a network is dropped or picked; what it holds, and what of it is public anyway."""

from __future__ import annotations

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gridveil import cases
from gridveil.errors import GridVeilError
from gridveil.publish.describe import stays_public
from gridveil.wall.facts import Source
from gridveil.wall.mechanisms import mechanism_words
from gridveil.web.asked import Ask, page, require_token, sentence, to
from gridveil.web.desk import Desk
from gridveil.web.files import CASES, Upload, plain_name
from gridveil.web.security import MOST_UPLOAD

KINDS = {"case": CASES, "bundle": (".zip",)}


def show(ask: Ask) -> Response:
    """The page."""
    desk, name = ask.desk, ask.desk.lying().name
    opened, public, trouble = None, list[str](), None
    if name is not None:
        try:
            opened = desk.reader.read(name)
            public = stays_public(mechanism_words("log"), opened.sealed.structure, Source.PRIVATE)
        except GridVeilError as error:
            trouble = sentence(desk, str(error))
    return page(
        desk, "open.html", "Open a network", step="", opened=opened, now=name, trouble=trouble,
        public_anyway=public, files=desk.folder.cases(), shipped=cases.names(), largest=MOST_UPLOAD // 10**6,
        endings=",".join(CASES), map=Markup(opened.map) if opened is not None else "",
    )  # fmt: skip


def pick(ask: Ask) -> Response:
    """Lay a network of the list on the desk; it is read first."""
    desk, wanted = ask.desk, ask.form.get("file", "")
    name = wanted.removeprefix("shipped:")
    if not (wanted.startswith("shipped:") and name in cases.names()):
        name = str(desk.folder.path(wanted, desk.folder.cases()))
    desk.reader.read(name)
    desk.lay(name=name)
    return to(desk, "")


async def upload(desk: Desk, request: Request) -> Response:
    """Take a file as it is sent, whole or not at all. It is read later, and never run."""
    try:
        require_token(desk, request, request.headers.get("x-form", ""))
        kind = request.query_params.get("kind", "")
        if kind not in KINDS:
            raise GridVeilError("there is no such kind of file; drop a network or a bundle")
        with Upload(desk.folder, plain_name(request.headers.get("x-name", ""), KINDS[kind])) as coming:
            async for chunk in request.stream():
                coming.write(chunk)
            return JSONResponse({"id": coming.keep()})
    except GridVeilError as error:
        return JSONResponse({"error": sentence(desk, str(error))}, 400)
