"""A study: its session on this machine, its agenda, and the loop that makes and records runs."""
