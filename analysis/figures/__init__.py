"""Figures of results: drawn by matplotlib in one style, each with its caption and its alt text."""

import logging

# Without a writable home matplotlib tells where else it keeps its cache; nobody who asked for a
# report wants to know.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
