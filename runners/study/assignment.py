"""The part of a study that one of several workers makes, and when the worker must stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def _nothing_stops(_expected_s: float | None) -> None:
    return


@dataclass(frozen=True)
class Assignment:
    """What a session makes of a study, and where.

    `folder` is where results go, None for the node's own. `blocks` are the repetitions to make,
    None for all. `pool` names the interchangeable nodes that divide a study; empty when one node
    makes all of it. `attempt` is the number of the shard, None for the node's next one. `may_start`
    is called before each run with its expected seconds, None when unknown, and raises StoppedError
    when the run must not start. A session waits up to `wait_for_node_s` seconds for the node's
    lock. `fenced` returns why records are no longer accepted; empty as long as they are.
    """

    folder: Path | None = None
    blocks: frozenset[int] | None = None
    pool: str = ""
    attempt: int | None = None
    may_start: Callable[[float | None], None] = _nothing_stops
    fenced: Callable[[], str] = str
    wait_for_node_s: float = 0.0


WHOLE_STUDY = Assignment()
