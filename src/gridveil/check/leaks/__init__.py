"""The leak check: what readers of a release can learn of the true lines, each by a method of his own."""
