"""The true numbers and the only code that may open it. Messages from here carry ids and counts, never values."""
