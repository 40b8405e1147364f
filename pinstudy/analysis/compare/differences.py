"""In what two results differ beside their cases: node, kernel, programs, libraries, settings.

A ratio between two results has all of it in it. What only one of the two tells is no difference.
Records and the files beside them may come from anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pinstudy.analysis.compare.matching import Matched, Unlike
from pinstudy.analysis.records.files import read_node
from pinstudy.analysis.records.first_records import Record
from pinstudy.analysis.results.node_files import node_facts
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.base.reading import table_in
from pinstudy.base.text import first_of, one_line
from pinstudy.runners.records.kept_facts import files_between, variables_between
from pinstudy.runners.records.node_file import NodeFile
from pinstudy.runners.records.settings_of_runs import GOVERNOR
from pinstudy.runners.records.status import SKIPPED

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
    if (table_a.key.app, table_a.key.build) == (table_b.key.app, table_b.key.build):
        yield from _programs(a, b, records_a, records_b)
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
    if node := node_facts(results):
        _take(facts, "processor", node.cpu_model)
        _take(facts, "kernel", node.kernel)
    return facts


def _facts_of_programs(records: Iterable[Record]) -> _Facts:
    facts: _Facts = {}
    for record in records:
        runtime = table_in(record, "runtime")
        named = (runtime.get(name) for name in ("name", "version"))
        _take(facts, "OpenMP runtime", " ".join(of for of in named if isinstance(of, str)))
        _take(facts, "built with", record.get("built_with"))
    return facts


def _settings(results: Results, case: CaseFinding) -> _Facts:
    region = case.summary.key.table.region
    case_id = case.case_id.removesuffix(f":{region}")
    seen = results.runs.settings.of(case_id) if results.runs else {}
    return {name: dict.fromkeys(values) for name, values in seen.items() if name != GOVERNOR}


def _programs(
    a: Results, b: Results, records_a: Iterable[Record], records_b: Iterable[Record]
) -> Iterator[Unlike]:
    digests = _unlike_digests(records_a, records_b, _PROGRAM)
    if digests:
        first, second = (of[:_DIGITS] for of in digests)
        files = _between(a, b, files_between, *digests)
        yield Unlike("program", first, second, files)


def _unlike_digests(
    records_a: Iterable[Record], records_b: Iterable[Record], name: str
) -> tuple[str, str] | None:
    """Return a digest that only A has, and one that only B has; None where both have the same."""
    mine, theirs = (
        dict.fromkeys(str(of[name]) for of in records if isinstance(of.get(name), str))
        for records in (records_a, records_b)
    )
    if not (mine and theirs) or mine.keys() == theirs.keys():
        return None
    return (
        next((of for of in mine if of not in theirs), next(iter(mine))),
        next((of for of in theirs if of not in mine), next(iter(theirs))),
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
                word, *(first_of(list(of), _MAX_VALUES, " and ") for of in (values, others))
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
