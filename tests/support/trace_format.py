"""What the Trace Event Format asks of a file, as far as our files use it.

By its document ("Trace Event Format", 2016), the JSON Object Format of metadata (M), complete
events (X) and counters (C); and by Perfetto's "Visualizing external trace formats": slices of a
track nest.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct, json

Whole = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


class Event(Struct, tag_field="ph", forbid_unknown_fields=True):
    name: Name
    ts: Whole
    pid: Whole
    tid: Whole


class Metadata(Event, tag="M"):
    args: dict[Literal["name", "sort_index"], Name | int]


class Complete(Event, tag="X"):
    dur: Whole
    cat: Name
    args: dict[str, str | float | bool | None]
    cname: Literal["rail_response", "thread_state_iowait", "rail_load", "grey"] | None = None


class Counted(Event, tag="C"):
    args: dict[str, float]


class File(Struct, forbid_unknown_fields=True):
    traceEvents: Annotated[list[Metadata | Complete | Counted], Meta(min_length=1)]  # noqa: N815
    displayTimeUnit: Literal["ms", "ns"]  # noqa: N815
    otherData: dict[str, str | float | dict[str, str]]  # noqa: N815


def checked(data: bytes) -> File:
    """Return a file that viewers understand; anything else fails."""
    file = json.decode(data, type=File)
    timed = [event for event in file.traceEvents if not isinstance(event, Metadata)]
    heads = file.traceEvents[: -len(timed)]
    named = {(head.pid, head.tid, head.name) for head in heads if isinstance(head, Metadata)}
    assert all(isinstance(head, Metadata) for head in heads), "metadata comes first"
    assert all(before.ts <= after.ts for before, after in pairwise(timed)), "sorted"
    around: dict[tuple[int, int], list[int]] = defaultdict(list)
    for event in timed:
        assert any(pid == event.pid and name == "process_name" for pid, _, name in named)
        if isinstance(event, Complete):
            assert (event.pid, event.tid, "thread_name") in named
            ends = around[event.pid, event.tid]
            while ends and ends[-1] <= event.ts:
                ends.pop()
            assert not ends or event.ts + event.dur <= ends[-1], "slices nest"
            ends.append(event.ts + event.dur)
    return file
