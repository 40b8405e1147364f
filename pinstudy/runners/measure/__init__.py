"""Measurements of a run: perf's counters, energy, and the conditions on the node around it."""
