"""Figures of results: drawn by matplotlib in one style, each with its caption and its alt text."""
