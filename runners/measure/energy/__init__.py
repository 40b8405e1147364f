"""Energy of packages, from powercap or perf, and what follows from it."""
