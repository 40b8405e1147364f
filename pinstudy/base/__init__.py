"""What every part of pinstudy builds on: errors, text, units, files, commands, readings."""

import os
import shlex
from pathlib import Path

# As in pyproject.toml.
VERSION = "0.2.0"

# The folder of the package: a checkout, or an installation's site-packages.
ROOT = Path(__file__).resolve().parents[2]

# pinstudy as the user calls it (set by bin/pinstudy): commands in messages work as they stand.
# Removed from the environment, because programs under study get the user's own.
PINSTUDY = shlex.quote(os.environ.pop("PINSTUDY_CALLED", "pinstudy"))
