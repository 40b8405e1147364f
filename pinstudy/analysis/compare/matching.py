"""Which tables, programs and rows of two results are of the same, and in what they differ.

Rows are matched by algorithm, ranks, threads, mapping, settings, governor, co-runner and, in
guests, the mapping of virtual CPUs; tables of one app, size and build are preferred, and it is
said where none are.

A ratio between two results has all differences of node, kernel, programs, libraries and settings
in it. What only one of the two tells is no difference. Records and the files beside them may come
from anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.records.files import read_node
from pinstudy.analysis.records.gathered import Record
from pinstudy.analysis.results.node_files import node_facts
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.base.reading import table_in
from pinstudy.base.text import first_of, one_line
from pinstudy.configs.study import CURRENT_GOVERNOR
from pinstudy.configs.values import DIRECTIONS
from pinstudy.runners.records.kept_facts import files_between, variables_between
from pinstudy.runners.records.node_file import NodeFile
from pinstudy.runners.records.settings_of_runs import GOVERNOR
from pinstudy.runners.records.status import SKIPPED

# The same row of A and of B, or a row of one of them.
Matched = tuple[CaseFinding | None, CaseFinding | None]
# Mapping of threads, mapping of virtual CPUs and co-runner, settings, governor if it is known.
_Key = tuple[str, str, str, str | None]

# Of a fact with several values in one of the results, and of tools, how many are named.
_MAX_VALUES = 3
_MAX_TOOLS = 20
_DIGITS = 12
_PROGRAM, _ENVIRONMENT = "program_digest", "environment_digest"
# Facts in a node's file, by their words.
_OF_NODE = {
    "processor": "cpu_model",
    "kernel's build": "kernel_build",
    "boot options": "boot_options",
    "firmware": "firmware",
    "SMT": "smt",
    "transparent huge pages": "transparent_hugepages",
    "platform profile": "platform_profile",
}
_OF_SCALING = {"driver's mode": "mode", "turbo": "turbo"}
_SWITCH = {True: "on", False: "off"}
# Values in their order, each once, by their words.
_Facts = dict[str, dict[str, None]]


@dataclass(frozen=True)
class Unlike:
    """A fact in which two results differ: what A has, what B has, and what changed between."""

    fact: str
    a: str = ""
    b: str = ""
    changes: str = ""


def matched_tables(
    tables_a: Sequence[TableFindings], tables_b: Sequence[TableFindings]
) -> Iterator[tuple[TableFindings, TableFindings]]:
    """Yield tables of A with those of B that are of the same, the most alike together; none twice.

    Tables are of the same when algorithm, region, ranks and threads are, whoever wrote the program,
    and where both are of the node, of guests or of emulated guests.
    """
    keys_b = [_of_the_same(table) for table in tables_b]
    of_the_same = [
        (at, other)
        for at, key in enumerate(map(_of_the_same, tables_a))
        for other, its_key in enumerate(keys_b)
        if key == its_key
    ]
    # Those that are equally alike keep their order.
    of_the_same.sort(key=lambda two: _likeness(tables_a[two[0]], tables_b[two[1]]), reverse=True)
    partners: dict[int, int] = {}
    for at, other in of_the_same:
        if at not in partners and other not in partners.values():
            partners[at] = other
    for at, other in sorted(partners.items()):
        yield tables_a[at], tables_b[other]


def _of_the_same(table: TableFindings) -> tuple[object, ...]:
    key, guest = table.key, table.cases[0].summary.key.guest
    return algorithm_of(table), key.region, key.threads_label, guest


def algorithm_of(table: TableFindings) -> str:
    """Return what a table's program computes: the app's name, unless several apps do so."""
    return table.cases[0].summary.key.algorithm or table.key.app


def _likeness(a: TableFindings, b: TableFindings) -> tuple[bool, ...]:
    keys = ("app", "size", "build", "schedule", "wait_policy", "vm_cpus", "vm_memory_mib")
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
            alike = ("size", "build", "threads", "wait_policy")
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

    A row without a known governor is the row of the other side that has its mappings, when
    neither side has another such row.
    """
    keys_a, keys_b = (
        [_row_key(case, as_governor) for case in cases] for cases in (cases_a, cases_b)
    )
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
    only_b = [case for at, case in enumerate(cases_b) if at not in partners.values()]
    return [
        *(
            (case, cases_b[partners[at]] if at in partners else None)
            for at, case in enumerate(cases_a)
        ),
        *((None, case) for case in only_b),
    ]


def _only_possible(key: _Key, keys: Sequence[_Key]) -> int | None:
    """Return where the only key stands that may be of the same row; None for none or several."""
    possible = [at for at, other in enumerate(keys) if _may_be_same(key, other)]
    return possible[0] if len(possible) == 1 else None


def _row_key(case: CaseFinding, as_governor: str | None) -> _Key:
    return (
        case.mapping,
        case.summary.key.vcpu_mapping or case.summary.key.co_runner or "",
        case.summary.key.setting_words,
        governor_of(case) or as_governor,
    )


def governor_of(case: CaseFinding) -> str | None:
    """Return the governor that a case was run under; None when nobody knows."""
    if case.governor == UNKNOWN:
        return None
    if case.governor != CURRENT_GOVERNOR:
        return case.governor
    read = case.summary.circumstances.governors_read
    return str(read[0]) if len(read) == 1 else None


def _may_be_same(a: _Key, b: _Key) -> bool:
    return a[:-1] == b[:-1] and None in (a[-1], b[-1])


def first_common_baseline(matched: Sequence[Matched]) -> tuple[CaseFinding, CaseFinding] | None:
    """Return the first row that is a baseline in both results."""
    both = ((a, b) for a, b in matched if a and b and a.is_baseline and b.is_baseline)
    return min(both, key=lambda pair: pair[0].number, default=None)


def differences_in_kind(a: TableFindings, b: TableFindings) -> Iterator[Unlike]:
    """Yield in what two tables differ that are compared all the same."""
    for key in ("app", "size", "build", "schedule", "wait_policy"):
        value_a, value_b = str(getattr(a.key, key)), str(getattr(b.key, key))
        if value_a != value_b and UNKNOWN not in (value_a, value_b):
            yield Unlike(key.replace("_", " "), value_a, value_b)
    for key, fact in (("mpi", "launcher of ranks"), ("ranks_by", "CPUs divided among ranks by")):
        of_a, of_b = (_facts(table, key) for table in (a, b))
        if of_a and of_b and of_a != of_b:
            yield Unlike(fact, ", ".join(of_a), ", ".join(of_b))


def unlike_metrics(a: TableFindings, b: TableFindings) -> Iterator[Unlike]:
    """Yield which numbers of one name two tables have in other units, or want otherwise.

    They are not side by side.
    """
    theirs = {str(objective): objective for objective in b.objectives}
    for mine in a.objectives:
        other = theirs.get(mine, mine)
        if mine.identity != other.identity:
            yield Unlike(one_line(mine.short), _direction(mine), _direction(other))


def _direction(objective: Objective) -> str:
    unit = objective.unit or "a plain number"
    return one_line(f"{DIRECTIONS[objective.higher]} is better, in {unit}")


def _facts(table: TableFindings, name: str) -> list[str]:
    facts = (getattr(case.summary.key, name) for case in table.cases)
    return sorted({fact for fact in facts if fact})


def unknown_governors(matched: Sequence[Matched]) -> Iterator[str]:
    """Yield the letter of results whose rows stand alone because their governor is not known."""
    for letter, at in (("A", 0), ("B", 1)):
        alone = [pair[at] for pair in matched if pair[1 - at] is None]
        if any(case and governor_of(case) is None for case in alone):
            yield letter


def unlike_meters(a: Results, b: Results) -> bool:
    """Return whether the energies of two results are of different meters or scopes."""
    return bool(a.meters and b.meters) and a.meters != b.meters


def differences_of_results(a: Results, b: Results) -> Iterator[Unlike]:
    """Yield in what the nodes and tools of two results differ."""
    read = _facts_of_runs if a.runs and b.runs else _facts_in_short
    yield from _unlike(read(a), read(b))


def differences_of_programs(
    a: Results, b: Results, table_a: TableFindings, table_b: TableFindings
) -> Iterator[Unlike]:
    """Yield in what the programs of two tables differ, their runtimes and inherited variables."""
    records_a, records_b = list(_records(a, table_a)), list(_records(b, table_b))
    # Those of two apps or builds are different ones by their names.
    is_same = (table_a.key.app, table_a.key.build) == (table_b.key.app, table_b.key.build)
    if is_same and (digests := _unlike_digests(records_a, records_b, _PROGRAM)):
        first, second = (digest[:_DIGITS] for digest in digests)
        yield Unlike("program", first, second, _between(a, b, files_between, *digests))
    yield from _unlike(_facts_of_programs(records_a), _facts_of_programs(records_b))
    digests = _unlike_digests(records_a, records_b, _ENVIRONMENT)
    if digests and (changes := _between(a, b, variables_between, *digests)):
        yield Unlike("inherited variables", changes=changes)


def differences_of_settings(a: Results, b: Results, matched: Sequence[Matched]) -> Iterator[Unlike]:
    """Yield in which settings the rows differ that are compared; governors are in the rows."""
    unlike: dict[Unlike, None] = {}
    for case_a, case_b in matched:
        if case_a and case_b:
            facts_a, facts_b = _settings(a, case_a), _settings(b, case_b)
            unlike |= dict.fromkeys(_unlike(facts_a, facts_b))
    yield from unlike


def _facts_of_runs(results: Results) -> _Facts:
    facts: _Facts = {}
    for meter in results.meters:
        _take(facts, "energy meter", meter)
    for record in _ran(results):
        _take(facts, "kernel", record.get("kernel"))
        _take(facts, "microcode", record.get("microcode"))
        for name, version in list(table_in(record, "versions").items())[:_MAX_TOOLS]:
            _take(facts, one_line(name), version)
    for node in _nodes(results):
        for word, name in _OF_NODE.items():
            _take(facts, word, getattr(node, name))
        for word, name in _OF_SCALING.items():
            _take(facts, word, getattr(node.cpufreq, name))
    return facts


def _facts_in_short(results: Results) -> _Facts:
    """Return what a card or a publication may tell as well."""
    facts: _Facts = {}
    for meter in results.meters:
        _take(facts, "energy meter", meter)
    if node := node_facts(results):
        _take(facts, "processor", node.cpu_model)
        _take(facts, "kernel", node.kernel)
    return facts


def _facts_of_programs(records: Iterable[Record]) -> _Facts:
    facts: _Facts = {}
    for record in records:
        runtime = table_in(record, "runtime")
        named = (runtime.get(name) for name in ("name", "version"))
        _take(facts, "OpenMP runtime", " ".join(word for word in named if isinstance(word, str)))
        _take(facts, "built with", record.get("built_with"))
    return facts


def _settings(results: Results, case: CaseFinding) -> _Facts:
    region = case.summary.key.table.region
    case_id = case.case_id.removesuffix(f":{region}")
    seen = results.runs.settings.of(case_id) if results.runs else {}
    return {name: dict.fromkeys(values) for name, values in seen.items() if name != GOVERNOR}


def _unlike_digests(
    records_a: Iterable[Record], records_b: Iterable[Record], name: str
) -> tuple[str, str] | None:
    """Return a digest that only A has, and one that only B has; None where both have the same."""
    mine, theirs = (
        dict.fromkeys(str(record[name]) for record in records if isinstance(record.get(name), str))
        for records in (records_a, records_b)
    )
    if not (mine and theirs) or mine.keys() == theirs.keys():
        return None
    return (
        next((digest for digest in mine if digest not in theirs), next(iter(mine))),
        next((digest for digest in theirs if digest not in mine), next(iter(theirs))),
    )


def _between(
    a: Results,
    b: Results,
    changed: Callable[[tuple[Path, str], tuple[Path, str]], str],
    first: str,
    second: str,
) -> str:
    """Return in words what changed between the files of two digests, beside their records."""
    return changed((a.folder or Path(), first), (b.folder or Path(), second))


def _unlike(mine: _Facts, theirs: _Facts) -> Iterator[Unlike]:
    for word, values in mine.items():
        others = theirs.get(word, values)
        if values.keys() != others.keys():
            yield Unlike(
                word, *(first_of(list(known), _MAX_VALUES, " and ") for known in (values, others))
            )


def _take(facts: _Facts, word: str, value: object) -> None:
    text = _SWITCH[value] if isinstance(value, bool) else value
    if isinstance(text, str) and text:
        facts.setdefault(word, {})[one_line(text)] = None


def _ran(results: Results) -> Iterator[Record]:
    for record in results.runs.firsts if results.runs else ():
        if record.get("status") != SKIPPED:
            yield record


def _records(results: Results, table: TableFindings) -> Iterator[Record]:
    cases = {case.case_id.removesuffix(f":{table.key.region}") for case in table.cases}
    return (record for record in _ran(results) if record.get("case_id") in cases)


def _nodes(results: Results) -> Iterator[NodeFile]:
    if results.runs and results.folder:
        for digest in results.runs.frame["node_digest"].dropna().unique():
            if node := read_node(results.folder, str(digest)):
                yield node
