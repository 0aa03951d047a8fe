"""What was found as plain data: statistics, series, charts and tables. No library that draws is known here."""
