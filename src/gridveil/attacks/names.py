"""The attackers by name; `attack.py` says what each of them does."""

from __future__ import annotations

ATTACKERS = ("random", "real", "released", "public", "topology", "interdiction")
