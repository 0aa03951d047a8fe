"""The workbench: a local web application for one steward. Sockets live in this room and nowhere else."""
