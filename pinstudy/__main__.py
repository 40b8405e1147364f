"""Starts pinstudy from its folder: the root of the tree goes first on the import path."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pinstudy.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
