"""Executes a command with an inherited descriptor as its standard input.

usage: stdin_from.py DESCRIPTOR COMMAND...

Standard library only. If the command cannot be started, prints why to stderr; exit status 127.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Make the descriptor the standard input, and execute the command."""
    given, command = int(sys.argv[1]), sys.argv[2:]
    os.dup2(given, 0)
    os.close(given)
    # Python ignores these signals, and the command would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        print(f"cannot be started: {why}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
