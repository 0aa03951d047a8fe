"""What is computed in C, where the compiled library is there; everything in it has a reference in Python."""
