"""The fault campaign: releases are killed, stopped, starved and crowded, and what must hold afterwards is looked at.

`python -m tests.faults NAME --count N --seed S` runs one campaign; `make test` runs a little of each.
"""
