"""The limit of a ledger that was made without saying otherwise."""

from __future__ import annotations

DEFAULT_LIMIT = 10.0
"""What an asset may spend."""
