"""MATPOWER version-2 case files: text -> `Case` -> text, and `Case` -> network."""

from gridveil.casefile.case import Case
from gridveil.casefile.read import read
from gridveil.casefile.write import write

__all__ = ["Case", "read", "write"]
