"""Findings in words: one short template each, for terminal and files. They decide nothing."""
