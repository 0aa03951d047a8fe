"""Budgets, exact noise, the ledger. This room has never heard of a grid."""
