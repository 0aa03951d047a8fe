"""One file per question: what is asked, its settings, the work of one draw, its columns, and what is said of them."""
