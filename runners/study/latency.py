"""The latency between CPUs, measured beside a study's runs: once a boot, before the first run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from base.errors import StudyError, UserError
from base.files import read_given
from base.units import duration
from runners.latency.measure import (
    FILE_NAME,
    LatencySettings,
    measure_locked,
    write_latency,
)
from runners.latency.pairs import plan_pairs
from runners.node.node import Node
from runners.study.runner import Progress

# A file of more is not read to know its boot; 1024 CPUs with 30 samples of each pair take less.
MAX_BYTES = 2**28


def measure_once_a_boot(node: Node, which: str, folder: Path, progress: Progress) -> None:
    """Write `latency.json` into a study's folder, unless it has this boot's.

    `which` is a word of LATENCY_PLANS. The node's lock is held by the caller. A node that cannot do
    it is told of, and the study goes on. KeyboardInterrupt passes through once what was measured is
    on the disk; the next attempt then measures again.
    """
    if _is_of_boot(folder / FILE_NAME, node.boot_id):
        return

    def tell(done: int, of: int, left_s: float | None) -> None:
        # A line a pair would be thousands, and drawing them would disturb what is measured.
        if done in (0, of) or done % max(1, of // 20) == 0:
            left = "" if left_s is None else f", {duration(left_s)} left"
            progress.waiting(f"latency between CPUs, {done} of {of} pairs{left}")

    try:
        settings = LatencySettings()
        plan = plan_pairs(node.topology, which, settings.seed)
        content = measure_locked(node, plan, settings, tell)
    except (StudyError, UserError) as error:
        progress.warned(f"the latency between CPUs is not measured: {error}")
        return
    write_latency(folder, content)
    if content.get("interrupted"):
        raise KeyboardInterrupt


def _is_of_boot(path: Path, boot_id: str | None) -> bool:
    """Return whether a file has been measured, to its end, in this boot."""
    found = _read(path)
    return found.get("boot_id") == boot_id and found != {} and not found.get("interrupted")


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = read_given(path, MAX_BYTES)
        found = json.loads(raw) if len(raw) <= MAX_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
