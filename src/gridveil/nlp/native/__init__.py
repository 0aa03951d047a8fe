"""The kernel: compiled C of our own, which is there where it could be compiled. Ipopt does all that it does, slower."""
