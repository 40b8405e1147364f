"""Figures of results: drawn by matplotlib in one style, each with its caption and its alt text."""

import logging

from analysis.processes import elsewhere

# Without a writable home matplotlib logs where else it keeps its cache.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

with elsewhere():
    # Here, before any other module does it: settings in the working directory are not ours.
    import matplotlib  # noqa: F401
