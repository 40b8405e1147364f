"""When a run of the reference itself is not good, which ends a race: why, and what helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from configs.errors import StudyError
from configs.words import plural
from runners.advise.request import METRIC, Request
from runners.advise.search import Search
from runners.outline import Outline
from runners.race.course import standing_of
from runners.race.reading import race_run
from runners.read_shards import read_records
from runners.statuses import CHECK_FAILED, OK, PLACEMENT_VIOLATED, TIMEOUT

_MOST_TOLD = 200


def reference_problem(outline: Outline, folder: Path) -> dict[str, Any] | None:
    """Return the record of the run for which there is no reference; None when there is one."""
    standing = standing_of(outline.plan, outline.history)
    if standing.decision != "no reference":
        return None
    rule = outline.study.race
    assert rule is not None
    last = None
    for record in read_records(folder / "records"):
        if record.get("case_id") == standing.reference and race_run(record, rule).reason:
            last = record
    return last


def as_it_starts(search: Search, record: Mapping[str, Any]) -> Request | None:
    """Return the request with as many threads as the program has started; None where that is wrong.

    Nobody has told how many these are of a program of which nothing is known.
    """
    request = search.request
    if search.program.runtime != "other" or request.threads or request.takes_threads:
        return None
    seen = _team(record)
    if record.get("status") != PLACEMENT_VIOLATED or not 0 < seen < search.reference.threads:
        return None
    return replace(request, threads=(seen,))


def raise_problem(request: Request, record: Mapping[str, Any]) -> None:
    """Raise StudyError that says why a run of the reference was not good, and what helps."""
    unavailable = record.get("unavailable")
    absent = unavailable.get("race_value", "") if isinstance(unavailable, Mapping) else ""
    reason = str(record.get("reason") or absent or record["status"])
    last = str(record.get("stderr_tail") or "").strip().rpartition("\n")[2][:_MOST_TOLD]
    told = f" (it said: {last})" if last else ""
    raise StudyError(
        f"a run of {request.program.name} as you start it was not good: {reason}{told}; "
        f"{_what_helps(request, record)}"
    )


def _what_helps(request: Request, record: Mapping[str, Any]) -> str:
    status = record["status"]
    if status == OK and request.of == METRIC:
        return "mend --metric, then give the new command"
    if status == OK:
        return f"without it nothing races for {request.of}: --objective time needs no counters"
    if status == CHECK_FAILED:
        return "mend --check, or the program, and begin anew with --fresh"
    if status == TIMEOUT:
        return "give it more time: --limit"
    if status == PLACEMENT_VIOLATED and _team(record) < record["threads"]:
        count = plural(_team(record), "thread")
        if request.takes_threads:
            return f"it was told {record['threads']} by its arguments, and starts {count}"
        return (
            f"it starts {count}, whatever it is told: say so by OMP_NUM_THREADS={_team(record)} in "
            "the environment of the same command"
        )
    if status == PLACEMENT_VIOLATED:
        return "something in it binds its threads, which has to be left to pinstudy"
    if record.get("repetition") != 1:
        return "it had worked before; see why it does not always, then begin anew with --fresh"
    return "see that it works, then begin anew with --fresh"


def _team(record: Mapping[str, Any]) -> int:
    """Return the most threads that were seen in one process."""
    threads = record["placement"].get("threads", ()) if "placement" in record else ()
    return max(Counter(thread["process"] for thread in threads).values(), default=0)
