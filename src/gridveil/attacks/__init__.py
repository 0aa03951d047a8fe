"""Attacks on lines: who chooses them, on what network, and what is left afterwards (the paper's §III-A and §V-C)."""
