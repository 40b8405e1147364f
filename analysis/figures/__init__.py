"""Figures of results: drawn by matplotlib in one style, each with its caption and its alt text."""

import logging
import os

from runners.host.software import ROOT

# Without a writable home matplotlib tells where else it keeps its cache; nobody who asked for a
# report wants to know.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

# Here, before any other module does it, and in pinstudy's own folder: matplotlib takes settings
# from the working directory (matplotlib.matplotlib_fname), and these are not ours.
try:
    _here = os.open(".", os.O_PATH | os.O_CLOEXEC)
except OSError:
    # Not even its user may look into it.
    import matplotlib
else:
    os.chdir(ROOT)
    try:
        import matplotlib  # noqa: F401
    finally:
        os.fchdir(_here)
        os.close(_here)
