"""What can be checked of a release: by anyone (`verify`), and by the operator, who has the original (INTERNAL)."""
