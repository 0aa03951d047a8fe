"""Bounds, projection, cuts, certificate: the public side of a release. It sees noisy values and public data only."""
