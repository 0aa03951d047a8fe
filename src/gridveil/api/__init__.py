"""The functions of the facade: what a script needs, taking a case in whatever form it is at hand."""
