"""Every type that may pass through the wall, and its JSON. Nothing here can hold a true line parameter."""
