"""Nonlinear programs over a grid: blind to secrecy, blind to files."""
