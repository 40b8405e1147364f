"""A study: its session on this machine, its schedule, and the loop that makes and records runs."""
