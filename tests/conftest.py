"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# A deadline an example would fail on a busy node, and CI shall find the same examples every time.
settings.register_profile("pinstudy", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("pinstudy")
