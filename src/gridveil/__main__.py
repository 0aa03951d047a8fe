"""`python -m gridveil`: the command line."""

from __future__ import annotations

from gridveil.cli.main import main

if __name__ == "__main__":
    main()
