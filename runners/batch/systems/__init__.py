"""Batch systems: what pinstudy asks of each, and how."""
