"""The files of nodes beside the records, and the facts in which two nodes differ.

The folder `nodes` has the facts of each node by its digest, and its picture, drawn by hwloc's
lstopo, which is optional.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from base.command import output_of
from base.files import read_object, write_atomically, write_json
from base.text import first_of, shown
from runners.node.facts import digest_facts
from runners.node.node import Node

_FOLDER = "nodes"

# The largest known nodes have files of some 2 MiB.
_MAX_BYTES = 16 * 1024 * 1024
_MAX_NAMED = 6
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
# A fact and its causes: a fact whose cause has changed is not listed.
_FOLLOWS = {
    "kernel_build": ("kernel",),
    "kinds": ("online",),
    "cores": ("online",),
    "caches": ("online",),
    "numa": ("online",),
    "drivers": ("online",),
}
_BOOT_OPTIONS = "boot_options"
_WORDS = {
    _BOOT_OPTIONS: "boot options",
    "online": "online CPUs",
    "kinds": "core kinds",
    "numa": "NUMA nodes",
    "drivers": "frequency drivers",
    "mode": "the driver's mode",
    "smt": "SMT",
    "cpu_model": "CPU model",
}
_COMMANDS = ("lstopo-no-graphics", "lstopo")
# No legend: it contains the host's name and the date. No devices: only cores matter.
_OPTIONS = ("--of", "svg", "--no-legend", "--no-io")
# Nodes with a thousand CPUs take seconds, and their pictures less than a megabyte.
_LIMIT_S = 20.0
_MAX_CHARACTERS = 4_000_000


def save_node(folder: Path, node: Node) -> None:
    """Write the node's facts and its picture into a results folder; raises StudyError."""
    absent = node.facts["unavailable"] | save_picture(picture_path(folder, node.digest))
    path = folder / _FOLDER / f"{node.digest}.json"
    write_json(path, node.facts | {"unavailable": absent}, sort_keys=True)


def picture_path(folder: Path, node_digest: str) -> Path:
    """Return the path of a node's picture in a results folder."""
    return folder / _FOLDER / f"{node_digest}.lstopo.svg"


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


def what_changed(folder: Path, now: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return which facts of the node differ from a record's, with their values then and now.

    `folder` holds the records, and in `nodes` the facts of their nodes. Where these are gone, the
    facts in the record itself are compared.
    """
    then = _load_digest_facts(folder, record.get("node_digest"))
    if then is not None and now:
        return _differences(folder, then, digest_facts(now))
    names = [name for name in ("kernel", "smt", "microcode") if name in record]
    return _differences(folder, record, {name: now.get(name) for name in names})


def changed_between(folder: Path, first: str, second: str) -> str:
    """Return which facts differ between the nodes of two digests, from their files in `nodes`."""
    then, now = (_load_digest_facts(folder, digest) for digest in (first, second))
    return _differences(folder, then or {}, now if then and now else {})


def _differences(folder: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words which facts changed, without those that follow from another one."""
    different = [name for name in now if then.get(name) != now[name]]
    listed = [name for name in different if not set(_FOLLOWS.get(name, ())).intersection(different)]
    if not listed:
        return f"compare the files in {folder / _FOLDER}"
    return first_of([in_words(name, then.get(name), now[name]) for name in listed], _MAX_NAMED)


def in_words(name: str, then: object, now: object) -> str:
    """Return a fact's values, then and now, in one short line."""
    word = _WORDS.get(name, name.replace("_", " "))
    if name == _BOOT_OPTIONS:
        before, after = (str(value or "").split() for value in (then, now))
        gone, new = ([w for w in a if w not in b] for a, b in ((before, after), (after, before)))
        return f"{word} lost {shown(' '.join(gone))} and got {shown(' '.join(new))}"
    if isinstance(now, list) and name != "kinds":
        return f"{word} differ"
    return f"{word} {'were' if word.endswith('s') else 'was'} {_value(then)}, now {_value(now)}"


def _value(value: object) -> str:
    """Return a fact's value as one short line; core kinds and drivers with their CPUs."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        value = ", ".join(f"{_get(item, 'name')} {_get(item, 'cpus')}" for item in value)
    elif isinstance(value, dict):
        value = ", ".join(f"{key} on {cpus}" for key, cpus in value.items()) or "none"
    return shown(value)


def _get(item: object, name: str) -> str:
    return str(item.get(name)) if isinstance(item, dict) else "?"


def _load_digest_facts(folder: Path, digest: object) -> dict[str, Any] | None:
    """Return the digest facts of the node with this digest; None if missing or malformed."""
    try:
        return digest_facts(load_facts(folder / _FOLDER, digest) or {})
    except (LookupError, TypeError, AttributeError):
        return None


def load_facts(folder: Path, digest: object) -> dict[str, Any] | None:
    """Return the object in the file that the digest names; None when it cannot be read."""
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        return None
    try:
        return read_object(folder / f"{digest}.json", _MAX_BYTES)
    except (OSError, ValueError):
        return None
