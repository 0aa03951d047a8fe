"""What is said of everything that was made with the original at hand."""

INTERNAL = "INTERNAL: compares with the original network; not for publication"
