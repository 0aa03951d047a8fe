"""Processes of our own: how they are started apart from where the user stands, and what they forbid themselves."""
