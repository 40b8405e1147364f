"""Figures of results: drawn by matplotlib in one style, each with its caption and its alt text."""

import logging
import os

from pinstudy.analysis.processes import elsewhere

# Without a writable home matplotlib logs where else it keeps its cache.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

# Set in a notebook, it names a module that pinstudy's interpreter need not have.
_backend = os.environ.pop("MPLBACKEND", None)
with elsewhere():
    # Here, before any other module does it: settings in the working directory are not ours.
    import matplotlib  # noqa: F401
if _backend is not None:
    os.environ["MPLBACKEND"] = _backend
