"""What only the operator can check, because it compares with the truth."""
