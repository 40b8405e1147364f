"""Energy of packages, from powercap or perf, and the figures derived from it."""
