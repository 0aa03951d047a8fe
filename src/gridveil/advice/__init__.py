"""Choosing a release's parameters without looking at the secret: trials on a stand-in, goals, a recommendation.

Nothing here sees the network that is to be released, but its structure: a stand-in is another network, or a release
that was made of this one (docs/proofs/advice.md).
"""
