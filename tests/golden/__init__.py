"""Outputs of canonical results, kept as files."""
