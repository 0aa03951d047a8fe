"""`gridveil profile CASE`: a horizon of demands by a rule, for releases over several steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from gridveil.cli.options import CaseArgument
from gridveil.cli.output import out, reporting
from gridveil.errors import ReleaseError


def profile(
    case: CaseArgument,
    target: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write.")],
    steps: Annotated[int, typer.Option(help="Length of the horizon.")] = 31,
    rule: Annotated[str, typer.Option(help="ramp, sine or uniform.")] = "uniform",
    per: Annotated[str, typer.Option(help="One scale per bus or per network.")] = "bus",
    low: Annotated[float, typer.Option(help="Least share of the base load.")] = 0.8,
    high: Annotated[float, typer.Option(help="Largest share of the base load.")] = 1.1,
    seed: Annotated[int, typer.Option(help="Seed of the rule; loads are public, it protects nothing.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Make the demand of a horizon: loads scaled between --low and --high of their base values."""
    with reporting(False):
        if per not in ("bus", "network"):
            raise ReleaseError(f"--per {per} is unknown; give bus or network")
        if target.exists() and not force:
            raise ReleaseError(f"{target} exists; choose another file or give --force")
        from gridveil.casefile.profile import profile_text
        from gridveil.files import write_whole
        from gridveil.formats.find import load
        from gridveil.grid.profile import make_profile

        grid = load(case).grid
        made = make_profile(grid, steps, rule, per_bus=per == "bus", low=low, high=high, seed=seed)
        try:
            write_whole(target, profile_text(grid, made))
        except OSError as error:
            raise ReleaseError(f"{target} cannot be written ({error.strerror}); choose another --out") from error
        out.print(f"{escape(str(target))}: {len(made)} steps of {grid.n_bus} buses, rule {rule} per {per}")
