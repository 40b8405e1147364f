"""Requests for tests, of a program that is there on every machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from runners.advise.program import Program
from runners.advise.request import Request, make_request

COMMAND = ("/bin/sh", "-c", "exit 0")
LIBGOMP = Program(Path("/bin/sh"), "libgomp", "no", "OpenMP by libgomp", "no such loops")
WITH_LOOPS = replace(LIBGOMP, loops="yes", loops_line="it has such loops")
OTHER = replace(LIBGOMP, runtime="other")
SERIAL = replace(LIBGOMP, runtime="none")


def request(*command: str, **options: Any) -> Request:  # noqa: ANN401 - as make_request
    """Return the request of these options for a command, `/bin/sh -c 'exit 0'` without one."""
    return make_request(command or COMMAND, **options)
