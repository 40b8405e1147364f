"""Which tables and rows of two results are the same case, whatever machine they are from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.results.summaries import UNKNOWN
from analysis.verdict.model import CaseFinding, TableFindings
from configs.study import CURRENT_GOVERNOR

# The same row of A and of B, or a row of one of them.
Matched = tuple["CaseFinding | None", "CaseFinding | None"]
# Mapping of threads, mapping of virtual CPUs, governor if it is known.
_Key = tuple[str, str, "str | None"]


def matched_tables(
    tables_a: Sequence[TableFindings], tables_b: Sequence[TableFindings]
) -> Iterator[tuple[TableFindings, TableFindings]]:
    """Yield each table of A with the table of B that is most like it, if one is of the same.

    Tables are of the same when algorithm and threads are, whoever wrote the program.
    """
    for table in tables_a:
        same = [other for other in tables_b if _of_the_same(table) == _of_the_same(other)]
        if same:
            yield table, max(same, key=lambda other: _likeness(table, other))


def _of_the_same(table: TableFindings) -> tuple[object, ...]:
    in_guest = bool(table.cases[0].summary.vcpu_mapping)
    return algorithm_of(table), table.key.threads, in_guest


def algorithm_of(table: TableFindings) -> str:
    """Return what a table's program computes: the app's name, unless several apps do so."""
    return table.cases[0].summary.algorithm or table.key.app


def _likeness(a: TableFindings, b: TableFindings) -> tuple[bool, ...]:
    keys = ("app", "size", "variant", "schedule", "wait_policy")
    return tuple(getattr(a.key, key) == getattr(b.key, key) for key in keys)


def matched_programs(
    tables: Sequence[TableFindings],
) -> Iterator[tuple[TableFindings, TableFindings]]:
    """Yield each table of one program with that of the other program of its algorithm.

    The first table's app has another name than its algorithm, as the originals have.
    """
    for table in tables:
        if table.key.app == algorithm_of(table):
            continue
        for other in tables:
            alike = ("size", "variant", "threads", "wait_policy")
            if (
                other.key.app == algorithm_of(table)
                and _of_the_same(other) == _of_the_same(table)
                and all(getattr(other.key, key) == getattr(table.key, key) for key in alike)
            ):
                yield table, other
                break


def matched_rows(
    cases_a: Sequence[CaseFinding], cases_b: Sequence[CaseFinding], as_governor: str | None
) -> list[Matched]:
    """Return the rows of both, then those that only B has.

    A row that does not tell its governor is the row of the other side that has its mappings, when
    neither side has another such row.
    """
    keys_a, keys_b = ([_row_key(case, as_governor) for case in of] for of in (cases_a, cases_b))
    partners: dict[int, int] = {}
    for at, key in enumerate(keys_a):
        same = [other for other, its_key in enumerate(keys_b) if its_key == key]
        if len(same) == 1 and same[0] not in partners.values():
            partners[at] = same[0]
    for at, key in enumerate(keys_a):
        other = _only_possible(key, keys_b)
        if other is None or at in partners or other in partners.values():
            continue
        if _only_possible(keys_b[other], keys_a) == at:
            partners[at] = other
    left = [case for at, case in enumerate(cases_b) if at not in partners.values()]
    return [
        *(
            (case, cases_b[partners[at]] if at in partners else None)
            for at, case in enumerate(cases_a)
        ),
        *((None, case) for case in left),
    ]


def _only_possible(key: _Key, keys: Sequence[_Key]) -> int | None:
    """Return where the only key stands that may be of the same row; None for none or several."""
    found = [at for at, other in enumerate(keys) if _may_be_same(key, other)]
    return found[0] if len(found) == 1 else None


def _row_key(case: CaseFinding, as_governor: str | None) -> _Key:
    return (
        case.mapping,
        case.summary.vcpu_mapping or "",
        governor_of(case) or as_governor,
    )


def governor_of(case: CaseFinding) -> str | None:
    """Return the governor that a case was run under; None when nobody knows."""
    if case.governor == UNKNOWN:
        return None
    if case.governor != CURRENT_GOVERNOR:
        return case.governor
    read = case.summary.governors_read
    return str(read[0]) if len(read) == 1 else None


def _may_be_same(a: _Key, b: _Key) -> bool:
    return a[:2] == b[:2] and None in (a[2], b[2])


def first_common_baseline(matched: Sequence[Matched]) -> tuple[CaseFinding, CaseFinding] | None:
    """Return the first row that is a baseline in both results."""
    both = ((a, b) for a, b in matched if a and b and a.is_baseline and b.is_baseline)
    return min(both, key=lambda pair: pair[0].number, default=None)


def differences_in_kind(a: TableFindings, b: TableFindings) -> Iterator[str]:
    """Yield in what two tables differ that are compared all the same."""
    for key in ("app", "size", "variant", "schedule", "wait_policy"):
        words = str(getattr(a.key, key)), str(getattr(b.key, key))
        if words[0] != words[1] and UNKNOWN not in words:
            yield f"{key.replace('_', ' ')}: A {words[0]}, B {words[1]}"


def unknown_governors(matched: Sequence[Matched]) -> Iterator[str]:
    """Say that rows stand alone because their governor is not known."""
    for name, at in (("A", 0), ("B", 1)):
        alone = [pair[at] for pair in matched if pair[1 - at] is None]
        if any(case and governor_of(case) is None for case in alone):
            yield (
                f"the governor of rows of {name} is not known; --as-governor tells for which to "
                "take it"
            )
