"""Settings that all tests share."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# A deadline an example would fail on a busy node, and CI shall find the same examples every time.
settings.register_profile("pinstudy", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("pinstudy")

# Tests that root starts by sudo test what root does.
for name in ("SUDO_UID", "DOAS_USER", "PKEXEC_UID"):
    os.environ.pop(name, None)

# A shell's background job ignores SIGINT, and so would every program that a test starts and stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
