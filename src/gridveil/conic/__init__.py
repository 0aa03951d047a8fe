"""Convex relaxations of AC-OPF as conic programs, and bounds that are bounds."""
