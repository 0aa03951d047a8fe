"""`gridveil key new` and `gridveil key show`: the keys that bundles are signed with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from gridveil.cli.exits import EXIT_HELP
from gridveil.cli.light import LightCommand, LightGroup
from gridveil.cli.options import JsonOption
from gridveil.cli.output import out, print_json, reporting
from gridveil.errors import PrivacyError

if TYPE_CHECKING:
    from gridveil.privacy.signature import PublicKey

app = typer.Typer(
    cls=LightGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Keys to sign releases with (Ed25519, in files that OpenSSL reads).",
)


@app.command(epilog=EXIT_HELP, cls=LightCommand)
def new(
    target: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The private key; the public one goes to FILE.pub.")
    ] = Path("gridveil.key"),
    as_json: JsonOption = False,
) -> None:
    """Make a key. Keep FILE to yourself; give FILE.pub to readers, by a way they trust and not in a bundle."""
    with reporting(as_json):
        from gridveil.privacy.signature import create_key, public_name

        key = create_key(target)
        if as_json:
            print_json({"status": "made", "private": str(target), "public": str(public_name(target)), **_record(key)})
        else:
            out.print(f"{escape(str(target))}: the private key; keep it to yourself", soft_wrap=True)
            out.print(f"{escape(str(public_name(target)))}: the public key, for readers", soft_wrap=True)
            out.print(key.fingerprint, soft_wrap=True)


@app.command(epilog=EXIT_HELP, cls=LightCommand)
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A key, private or public.")],
    as_json: JsonOption = False,
) -> None:
    """Show the public key of FILE and its fingerprint, which people can compare."""
    with reporting(as_json):
        from gridveil.privacy.signature import read_private_key, read_public_key

        try:
            key = read_public_key(file)
        except PrivacyError:
            key = read_private_key(file).public
        if as_json:
            print_json({"status": "shown", **_record(key)})
        else:
            out.print(key.pem + key.fingerprint, soft_wrap=True)


def _record(key: PublicKey) -> dict[str, str]:
    return {"public_key": key.text, "pem": key.pem, "fingerprint": key.fingerprint}
