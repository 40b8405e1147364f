"""Which launchers and helpers are installed, and of which version."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import pairwise

from base.command import ask
from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import NOT_TRIED, Capability
from runners.host.software import for_tools

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+\S*")


def probe_taskset(node: AskedNode) -> Iterator[Capability]:
    """Tell where taskset is."""
    yield _tool(node, "taskset")


def probe_numactl(node: AskedNode) -> Iterator[Capability]:
    """Tell where numactl is; it tells no version."""
    yield _tool(node, "numactl")


def probe_lstopo(node: AskedNode) -> Iterator[Capability]:
    """Tell the version of hwloc's lstopo."""
    found = _tool(node, "lstopo", "lstopo-no-graphics")
    if found.state != "ok":
        yield found
        return
    version = _VERSION.search(ask([found.reason, "--version"]) or "")
    if version is None:
        yield Capability(
            "lstopo", "missing", f"{found.reason} does not tell its version", for_tools().grant
        )
    else:
        yield Capability("lstopo", "ok", f"{found.reason}, hwloc {version[0]}")


def probe_likwid_pin(node: AskedNode) -> Iterator[Capability]:
    """Tell the version of likwid-pin: it runs a library that may not load."""
    found = _tool(node, "likwid-pin")
    if found.state != "ok":
        yield found
        return
    version = _word_after(found.reason, "Version")
    if version is None:
        silent = f"{found.reason} does not tell its version"
        yield Capability("likwid-pin", "missing", silent, "likwid-pin --version")
    else:
        yield Capability("likwid-pin", "ok", f"likwid {version}")


def _word_after(command: str, word: str) -> str | None:
    """Return the word that follows `word` in what `command --version` prints, or None."""
    words = (ask([command, "--version"]) or "").split()
    return next((after for at, after in pairwise(words) if at == word), None)


def _tool(node: AskedNode, name: str, *others: str) -> Capability:
    """Look for a command, by its name or by another one; its path is the reason."""
    if not node.live:
        return Capability(name, "missing", NOT_TRIED)
    path = next(filter(None, map(shutil.which, (name, *others))), None)
    if path is None:
        return Capability(name, "missing", f"{name} is not installed", for_tools().grant)
    return Capability(name, "ok", path)
