"""Batch systems: their common interface, and the commands of each."""
