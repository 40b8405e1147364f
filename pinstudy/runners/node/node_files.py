"""The files of nodes beside the records.

The folder `nodes` has the facts of each node by its digest, and its picture, drawn by hwloc's
lstopo, which is optional.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pinstudy.base.command import output_of
from pinstudy.base.files import write_atomically, write_json
from pinstudy.configs.results_folder import NODES, picture_path
from pinstudy.runners.node.node import Node

_COMMANDS = ("lstopo-no-graphics", "lstopo")
# No legend: it contains the host's name and the date. No devices: only cores matter.
_OPTIONS = ("--of", "svg", "--no-legend", "--no-io")
# Nodes with a thousand CPUs take seconds, and their pictures less than a megabyte.
_LIMIT_S = 20.0
_MAX_CHARACTERS = 4_000_000


def save_node(folder: Path, node: Node) -> None:
    """Write the node's facts and its picture into a results folder; raises StudyError."""
    absent = node.facts["unavailable"] | save_picture(picture_path(folder, node.digest))
    path = folder / NODES / f"{node.digest}.json"
    write_json(path, node.facts | {"unavailable": absent}, sort_keys=True)


def save_picture(path: Path) -> dict[str, str]:
    """Draw this node into a file, unless it exists; return the reason of a failure, by field."""
    if path.exists():
        return {}
    command = next(filter(None, map(shutil.which, _COMMANDS)), None)
    if command is None:
        return {"picture": "lstopo is not installed"}
    # hwloc's variables could make it draw another machine.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("HWLOC_")
    }
    drawn = output_of([command, *_OPTIONS], environment, limit_s=_LIMIT_S)
    if drawn is None or "<svg" not in drawn or len(drawn) > _MAX_CHARACTERS:
        return {"picture": f"{command} {' '.join(_OPTIONS)} drew nothing"}
    write_atomically(path, drawn.encode())
    return {}
