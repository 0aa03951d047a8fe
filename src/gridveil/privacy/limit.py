"""The limit of a ledger that was made without saying otherwise."""

from __future__ import annotations

DEFAULT_LIMIT = 10.0
"""What an asset may spend."""
LARGEST_LIMIT = 1e15
"""Whoever wants none says this: larger numbers have no place in a manifest."""
