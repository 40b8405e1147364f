"""What is measured of a run: counters of perf, energy, and the conditions on the node around it."""
