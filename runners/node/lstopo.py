"""The node as hwloc's lstopo draws it, kept beside the records; hwloc is optional."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from base.command import output_of
from base.files import write_atomically

COMMANDS = ("lstopo-no-graphics", "lstopo")
# No legend: it contains the host's name and the date. No devices: only cores matter.
OPTIONS = ("--of", "svg", "--no-legend", "--no-io")
# Nodes with a thousand CPUs take seconds, and their pictures less than a megabyte.
LIMIT_S = 20.0
MAX_CHARACTERS = 4_000_000


def picture_path(folder: Path, node_digest: str) -> Path:
    """Return the path of a node's picture in a results folder."""
    return folder / "nodes" / f"{node_digest}.lstopo.svg"


def keep_picture(path: Path) -> dict[str, str]:
    """Draw this node into a file, unless it exists; return the reason of a failure, by field."""
    if path.exists():
        return {}
    command = next(filter(None, map(shutil.which, COMMANDS)), None)
    if command is None:
        return {"picture": "lstopo is not installed"}
    # hwloc's variables could make it draw another machine.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("HWLOC_")
    }
    drawn = output_of([command, *OPTIONS], environment, limit_s=LIMIT_S)
    if drawn is None or "<svg" not in drawn or len(drawn) > MAX_CHARACTERS:
        return {"picture": f"{command} {' '.join(OPTIONS)} drew nothing"}
    write_atomically(path, drawn.encode())
    return {}
