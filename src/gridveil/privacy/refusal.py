"""Words for a charge that is not made, and for the changes that a loss is counted for."""

from __future__ import annotations

from collections.abc import Sequence

from gridveil.privacy.composition import Accounts, Within


def refusal(before: Accounts, after: Accounts) -> str:
    """Why a charge is refused: by the account that would be farthest beyond its limit."""
    at = after.nearest
    group = f" ({after.groups[at]})" if after.groups[at] else ""
    return (
        f"the release would cost {after.spent[at] - before.spent[at]:.6g}; this network has spent "
        f"{before.spent[at]:.6g} of its limit {after.limit[at]:.6g}{group}, counted for changes up to "
        f"{reach_words(after.within)}. This was not charged; raise the limit with 'gridveil ledger set-limit' if that "
        "is meant"
    )


def reach_words(within: Sequence[Within]) -> str:
    """Up to which changes a loss is counted."""
    found = dict[str, None]()
    for one in within:
        by_alpha = dict[float, list[str]]()
        for group, alpha in one.groups.items():
            by_alpha.setdefault(alpha, []).append(group)
        said = ", ".join(f"{alpha:g} of {listed(some)}" for alpha, some in by_alpha.items())
        found[f"{said or f'{one.alpha:g}'} ({one.unit})"] = None
    return " and ".join(found)


def listed(words: Sequence[str]) -> str:
    """One, two and three."""
    return " and ".join(one for one in (", ".join(words[:-1]), *words[-1:]) if one)
