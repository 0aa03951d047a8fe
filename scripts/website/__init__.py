"""What the documentation site makes from the program itself: commands, exit codes, schemas and formats as pages."""
