"""Starts pinstudy from its folder: the root of the tree goes first on the import path."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from pinstudy.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
