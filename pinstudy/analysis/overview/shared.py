"""What all cases of an overview share, said once: build, size, schedule, wait policy, governor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pinstudy.analysis.overview.grid import Overview
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.analysis.verdict.model import Findings, TableFindings
from pinstudy.base.text import one_line
from pinstudy.configs.study import CURRENT_GOVERNOR, RUNTIME_DEFAULT

# More programs that differ from the others are not named.
_MAX_OTHERS = 2

_FIELDS: tuple[Callable[[TableFindings], str], ...] = (
    lambda table: table.key.build,
    lambda table: f"size {table.key.size}" if table.key.size else "",
    lambda table: "" if _takes_no_schedule(table) else table.key.schedule,
    lambda table: "" if table.key.wait_policy == RUNTIME_DEFAULT else table.key.wait_policy,
)


def shared_words(findings: Findings, overview: Overview) -> str:
    """Return what the cases share: `libgomp, size quick, static (lu: static,1)`."""
    tables = [findings.tables[at] for at in dict.fromkeys(of.table for of in overview.lines)]
    named = {word for line in overview.lines for word in line.label.split()}
    words = [_field(tables, value, named) for value in _FIELDS]
    if overview.governor not in (CURRENT_GOVERNOR, UNKNOWN):
        words.append(overview.governor)
    return one_line(", ".join(filter(None, words)))


def _takes_no_schedule(table: TableFindings) -> bool:
    return all(case.summary.key.no_schedule for case in table.cases)


def _is_known(name: str) -> bool:
    return bool(name) and name != UNKNOWN


def _field(
    tables: Sequence[TableFindings], value: Callable[[TableFindings], str], named: set[str]
) -> str:
    """Return a value that all programs have, or most; else two; nothing that the lines name."""
    by_app: Mapping[str, list[str]] = {
        alike[0].key.app: [name for name in dict.fromkeys(map(value, alike)) if _is_known(name)]
        for alike in grouped(tables, lambda table: table.key.app)
    }
    every = list(dict.fromkeys(name for values in by_app.values() for name in values))
    if any(set(name.removeprefix("size ").split()) <= named for name in every):
        return ""
    if any(len(values) > 1 for values in by_app.values()):
        return " and ".join(every) if len(every) <= _MAX_OTHERS else ""
    usual = Counter(values[0] for values in by_app.values() if values).most_common(1)
    if not usual:
        return ""
    others = [f"{app}: {of[0]}" for app, of in by_app.items() if of and of[0] != usual[0][0]]
    if len(others) > _MAX_OTHERS:
        return ""
    return f"{usual[0][0]} ({', '.join(others)})" if others else usual[0][0]
