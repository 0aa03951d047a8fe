"""Rarely used options of a command, in panels of their own below the everyday ones."""

from __future__ import annotations

from typing import Any

RARE = "Rarely used"
FILES = "What CASE lacks"
PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "release": {
        "More than lines": (
            "alpha_lines", "alpha_ratings", "alpha_loads", "alpha_limits", "alpha_costs", "ratings", "cost_classes",
            "totals", "published_total", "shape_public",
        ),
        "The public dispatch cost": ("cost", "published_cost", "cost_share", "cost_sensitivity"),
        "Over a horizon": ("profile", "steps", "declare_unused", "check_steps", "workers", "scheduler"),
        FILES: ("costs", "limits", "missing_cost"),
        "What else goes into the bundle": ("to", "keep", "publisher", "contact", "licence"),
        "Research": ("research", "seed"),
        RARE: ("mechanism", "room", "target", "effort", "loss_within", "bound_factor", "unattended", "same_as"),
    },
    "advise": {
        "What is varied": ("protect", "alpha", "epsilon", "beta", "mechanisms", "ratings", "cost", "totals"),
        "What it is tried on": ("stand_in", "stand_in_epsilon", "stand_in_out", "ledger", "same_as", "yes"),
    },
    "study": {"A cluster that exists": ("scheduler", "tls_ca", "tls_cert", "tls_key", "insecure")},
    "draws": {FILES: ("costs", "limits", "missing_cost"), RARE: ("first_seed", "quiet")},
    "opf": {RARE: ("max_iterations", "max_seconds", "solver", "ipopt", "linear_solver")},
}  # fmt: skip
"""By command and panel: parameters by their names in Python."""


def in_panels(command: str, parameters: list[Any]) -> None:
    """Give a command's parameters their panels, and panels their order."""
    panel = {name: title for title, names in PANELS.get(command, {}).items() for name in names}
    order = ["", *PANELS.get(command, {})]
    for one in parameters:
        if one.name in panel:
            one.rich_help_panel = panel[one.name]
    parameters.sort(key=lambda one: order.index(panel.get(one.name, "")))
