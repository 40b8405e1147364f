"""A card: one small JSON file with what a study found on a node, and nothing of who ran it.

It has the cases' means and the comparisons, with what intervals and words follow from, but no runs.
docs/cards.md lists its fields. Cards come from anybody: every value is checked when one is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.records.files import Checked, open_checked
from analysis.results.card_picture import picture_problem
from analysis.results.card_values import (
    MAX_LETTERS,
    MAX_NOTES,
    cpus_in,
    digest_in,
    flag_of,
    is_day,
    is_line,
    line_of,
    line_or_none,
    lines_by_name,
    list_of_lines,
    number_of,
    only_keys,
)
from analysis.results.case_summary import CaseSummary, Stated
from analysis.results.node_facts import CacheFacts, KindFacts, NodeFacts
from analysis.results.summaries import cases_of_texts
from base import PINSTUDY
from base.cpulist import MAX_CPU
from base.errors import UserError
from base.text import one_line, plural
from configs.core_kinds import KIND_ORDER
from runners.records.disturbances import DISTURBANCES
from runners.records.placed_runs import PlacedRuns

if TYPE_CHECKING:
    from analysis.statistics.difference import Difference

# The history of the file's schema; a reader refuses what is newer than itself.
# 1: the first.
SCHEMA = 1
KIND = "card"
SUFFIX = ".json"
MAX_BYTES = 1 << 20
MAX_CASES = 1000
_MAX_CLUSTERS = 500
_MAX_COUNT = 10**9
_MAX_NUMBER = 1e30
_MAX_KINDS = len(KIND_ORDER)
_EXPECTED = f"expected a card that `{PINSTUDY} card` has written"
_ABSENT = "not measured"
_OUTCOMES = ("better", "worse", "equivalent", "undecided")
_ESTIMANDS = ("typical", "mean")
MEASURED, IMPORTED, PUBLISHED = SOURCES = ("measured", "imported", "published")
# What a case has beside the columns of tables.csv.
BESIDE_COLUMNS = (
    "placed",
    "disturbed",
    "runs_of",
    "fixed_time",
    "out_of_turn",
    "unclear",
    "comparisons",
)
_KEYS = (
    *("schema", "kind", "source", "study", "days", "versions", "node", "instruments"),
    *("latency", "margin", "look", "footnotes", "unavailable", "cases", "picture"),
)


@dataclass(frozen=True)
class Instruments:
    """What `pinstudy prove` found of a node: the day, how many of each state, and what was off.

    `off` has the fields of records whose values are wrong, by the instrument's name.
    """

    day: str
    ok: int
    absent: int
    off: Mapping[str, tuple[str, ...]]

    @property
    def summary(self) -> str:
        """When they were tested, and what was found: `proved 2026-11-22, 1 off (…)`."""
        names = f" ({', '.join(self.off)})" if self.off else ""
        return f"proved {self.day}: {self.ok} ok, {len(self.off)} off{names}, {self.absent} absent"


@dataclass(frozen=True)
class NearCpus:
    """CPUs that are near each other: the latency among them and outwards, in ns."""

    cpus: str
    level: int
    within_ns: float
    outside_ns: float


@dataclass(frozen=True)
class Card:
    """What a card says beside its cases; what is None has its reason in `unavailable`.

    `source` is how its results came about, one of SOURCES. `days` are the first and the last day of
    the runs. `clusters` are those of a latency file, larger ones first. `margin` is the equivalence
    margin of the words in the file; `look` and `planned_looks` are those of
    analysis.statistics.decision.Look. `fixed_time` are the cases whose programs run as long as they
    are told. `picture` is an SVG of the comparisons.
    """

    source: str
    study: str | None
    title: str | None
    study_digest: str | None
    days: tuple[str, str] | None
    versions: Mapping[str, str]
    node: NodeFacts | None
    instruments: Instruments | None
    clusters: tuple[NearCpus, ...] | None
    margin: float
    look: int
    planned_looks: int
    footnotes: tuple[str, ...]
    unavailable: Mapping[str, str]
    picture: str | None = None
    fixed_time: frozenset[str] = frozenset()

    @property
    def all_footnotes(self) -> tuple[str, ...]:
        """The footnotes of the results that it was made of, and those about itself."""
        by = self.versions.get("pinstudy")
        made = f", made by pinstudy {by}" if by else ""
        own = [f"from a card{made}: means and comparisons, without their runs"]
        if self.instruments and self.instruments.off:
            own.append(f"instruments of the node: {self.instruments.summary}")
        return *self.footnotes, *own

    @property
    def off(self) -> dict[str, str]:
        """Why the values of some fields are wrong, by field."""
        of = self.instruments.off if self.instruments else {}
        return {
            field: f"{name} was off, by `pinstudy prove`"
            for name, fields in of.items()
            for field in fields
        }

    def content(self, cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the file's content with these cases, as `pinstudy card` writes them."""
        node = self.node
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "source": self.source,
            "study": {"name": self.study, "title": self.title, "digest": self.study_digest},
            "days": list(self.days) if self.days else None,
            "versions": dict(self.versions),
            "node": {"digest": node.digest, **asdict(node)} if node else None,
            "instruments": asdict(self.instruments) if self.instruments else None,
            "latency": None if self.clusters is None else [asdict(of) for of in self.clusters],
            "margin": self.margin,
            "look": {"number": self.look, "planned": self.planned_looks},
            "footnotes": list(self.footnotes),
            "unavailable": dict(self.unavailable),
            "cases": list(cases),
            "picture": self.picture,
        }


def is_card(source: str) -> bool:
    """Return whether a source of results is named as a card's file is."""
    return source.endswith(SUFFIX)


def read_card(path: Path) -> tuple[Card, list[CaseSummary]]:
    """Return a card and its cases, in the order of their tables.

    Raises UserError, naming file and field, for what cannot be read, is larger than 1 MiB, and for
    anything that is not as `pinstudy card` writes it.
    """
    return card_of(open_checked(path, MAX_BYTES, _EXPECTED, f"; {_EXPECTED}"))


def card_of(file: Checked) -> tuple[Card, list[CaseSummary]]:
    """Return the card and the cases of a file's content; raises as `read_card` does."""
    file.valid("kind", lambda value: value == KIND, repr(KIND))
    file.check_schema(SCHEMA)
    only_keys(file, _KEYS)
    study, look = file.table("study"), file.table("look")
    only_keys(study, ("name", "title", "digest"))
    only_keys(look, ("number", "planned"))
    cases, fixed_time = _cases(file)
    card = Card(
        source=file.word("source", SOURCES),
        study=line_or_none(study, "name"),
        title=line_or_none(study, "title"),
        study_digest=digest_in(study) if study.has("digest") else None,
        days=_days(file) if file.has("days") else None,
        versions=lines_by_name(file, "versions"),
        node=_node(file.table("node")) if file.has("node") else None,
        instruments=_instruments(file.table("instruments")) if file.has("instruments") else None,
        clusters=_clusters(file) if file.has("latency") else None,
        margin=number_of(file, "margin", 1e-9, 1),
        look=look.whole("number", 1, 1000),
        planned_looks=look.whole("planned", 1, 1000),
        footnotes=tuple(list_of_lines(file, "footnotes", MAX_NOTES)),
        unavailable=lines_by_name(file, "unavailable"),
        picture=_picture(file) if file.has("picture") else None,
        fixed_time=fixed_time,
    )
    return card, cases


def _days(file: Checked) -> tuple[str, str]:
    first, last = file.valid(
        "days",
        lambda of: (
            isinstance(of, list) and len(of) == 2 and all(map(is_day, of)) and of[0] <= of[1]
        ),
        "the first and the last day, such as 2026-11-22",
    )
    return first, last


def _node(table: Checked) -> NodeFacts:
    only_keys(table, ("digest", *NodeFacts.__dataclass_fields__))
    for at in table.tables("kinds", _MAX_KINDS):
        only_keys(at, KindFacts.__dataclass_fields__)
    for at in table.tables("caches", 50):
        only_keys(at, CacheFacts.__dataclass_fields__)
    node = NodeFacts(
        cpu_model=line_of(table, "cpu_model", 100),
        kinds=tuple(
            KindFacts(
                of.word("name", KIND_ORDER),
                cpus_in(of),
                of.whole("cores", 1, MAX_CPU),
                flag_of(of, "declared"),
            )
            for of in table.tables("kinds", _MAX_KINDS)
        ),
        caches=tuple(
            CacheFacts(
                of.whole("level", 1, 9),
                of.whole("count", 1, MAX_CPU),
                of.whole("size_bytes", 1, 2**50) if of.has("size_bytes") else None,
            )
            for of in table.tables("caches", 50)
        ),
        memory_gib=table.whole("memory_gib", 0, 2**20) if table.has("memory_gib") else None,
        kernel=line_of(table, "kernel", 40) if table.has("kernel") else None,
        drivers=tuple(list_of_lines(table, "drivers", 10)),
        virtual_machine=flag_of(table, "virtual_machine") if table.has("virtual_machine") else None,
    )
    if digest_in(table) != node.digest:
        raise table.wrong("digest", f"{node.digest}, the digest of the facts beside it")
    return node


def _instruments(table: Checked) -> Instruments:
    only_keys(table, Instruments.__dataclass_fields__)
    day: str = table.valid("day", is_day, "a day such as 2026-11-22")
    off = table.table("off")
    if len(off.values) > MAX_NOTES or not all(is_line(name, 100) for name in off.values):
        raise table.wrong("off", f"at most {MAX_NOTES} names of one line")
    fields = {name: tuple(list_of_lines(off, name, MAX_NOTES)) for name in off.values}
    return Instruments(day, table.whole("ok", 0, 1000), table.whole("absent", 0, 1000), fields)


def _clusters(file: Checked) -> tuple[NearCpus, ...]:
    clusters = []
    for of in file.tables("latency", _MAX_CLUSTERS):
        only_keys(of, NearCpus.__dataclass_fields__)
        level = of.whole("level", 1, 100)
        ends = (number_of(of, name, 1e-3, 1e9) for name in ("within_ns", "outside_ns"))
        clusters.append(NearCpus(cpus_in(of), level, *ends))
    return tuple(clusters)


def _picture(file: Checked) -> str:
    text = file.valid("picture", lambda value: isinstance(value, str), "the text of an SVG picture")
    if why := picture_problem(text):
        raise UserError(f"{file.path}: picture: {why}{file.advice}")
    return str(text)


def _cases(file: Checked) -> tuple[list[CaseSummary], frozenset[str]]:
    """Return the cases, and those of programs that run as long as they are told."""
    tables = file.tables("cases", MAX_CASES)
    if not tables:
        raise file.wrong("cases", "one case or more")
    cases, wrong = cases_of_texts([_texts(of) for of in tables], _ABSENT)
    for at, message in wrong:
        raise UserError(f"{file.path}: cases[{at}]: {message}{file.advice}")
    beside = {str(of.values["case_id"]): of for of in tables}
    completed = [_completed(case, beside[case.case_id], beside) for case in cases]
    given = (of for of in tables if of.has("fixed_time") and flag_of(of, "fixed_time"))
    return completed, frozenset(str(of.values["case_id"]) for of in given)


def _texts(case: Checked) -> dict[str, str]:
    """Return a case's columns as texts, which tables of means are read from."""
    line_of(case, "case_id", 20)
    texts = {}
    for name, value in case.values.items():
        if name in BESIDE_COLUMNS or value is None:
            continue
        is_number = type(value) in (int, float) and abs(value) <= _MAX_NUMBER
        if not is_number and not is_line(value, 4 * MAX_LETTERS):
            raise case.wrong(one_line(name, 60), "a number, or a text of one line")
        texts[name] = str(value).strip()
    return texts


def _completed(case: CaseSummary, table: Checked, ids: Mapping[str, Checked]) -> CaseSummary:
    """Return a case with what tables of means do not have."""
    runs_of = table.table("runs_of") if table.has("runs_of") else replace(table, values={})
    unknown = [name for name in runs_of.values if name not in case.measures]
    if unknown:
        raise table.wrong("runs_of", "names of measures", unknown[0])
    # A card's numbers are not rounded: tables round them, and show no texts of theirs.
    measures = {
        name: replace(
            of,
            n=runs_of.whole(name, 0, _MAX_COUNT) if runs_of.has(name) else of_row,
            mean_text="",
            sd_text="",
        )
        for name, of in case.measures.items()
        # What `runs_of` does not name, all runs have, whatever reasons say of some.
        for of_row in (case.n if of.n is None else of.n,)
    }
    disturbed = table.table("disturbed") if table.has("disturbed") else replace(table, values={})
    only_keys(disturbed, DISTURBANCES)
    placed, names = table.table("placed"), list(PlacedRuns.__dataclass_fields__)
    only_keys(placed, names)
    counts = PlacedRuns(*(placed.whole(name, 0, _MAX_COUNT) for name in names))
    return replace(
        case,
        measures=measures,
        disturbed={name: disturbed.whole(name, 0, _MAX_COUNT) for name in disturbed.values},
        placed=counts,
        unproved={"placement": counts.unproved},
        unexplained=_unexplained(case, counts),
        out_of_turn=table.has("out_of_turn") and flag_of(table, "out_of_turn"),
        unclear=lines_by_name(table, "unclear") if table.has("unclear") else {},
        stated=_stated(case, table, ids),
    )


def _unexplained(case: CaseSummary, placed: PlacedRuns) -> int | None:
    """Return how many lost runs of a case have no cause; its columns know of no unproved ones.

    Older cards do not say how many runs were lost, but those of runs have their placement.
    """
    if case.unexplained is None:
        return 0 if any(asdict(placed).values()) else None
    return max(0, case.unexplained - placed.unproved)


_COMPARISON = (
    *("objective", "unit", "better", "against", "ratio", "low", "high", "word"),
    *("log_ratio", "standard_error", "df", "n", "paired", "estimand", "cut", "units"),
    "across_attempts",
)


def comparison_content(
    against: str, difference: Difference, across_attempts: bool, words: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a comparison as a case of a card has it.

    `words` are its objective, unit, direction and outcome. The interval's ends are null where there
    is no spread, or where it has no end.
    """
    interval = difference.known_interval()
    low, high = (interval.low, interval.high) if interval else (0.0, math.inf)
    ends = {
        name: end if 0 < end < math.inf else None for name, end in (("low", low), ("high", high))
    }
    values = {"against": against, "ratio": difference.ratio, **ends}
    return {**words, **values, **asdict(difference), "across_attempts": across_attempts}


def _stated(case: CaseSummary, table: Checked, ids: Mapping[str, Checked]) -> dict[str, Stated]:
    stated: dict[str, Stated] = {}
    for of in table.tables("comparisons", 50):
        only_keys(of, _COMPARISON)
        name = line_of(of, "objective")
        against: str = of.valid(
            "against",
            lambda value: isinstance(value, str) and value in ids and value != case.case_id,
            "the case_id of another case",
        )
        if name in stated:
            raise of.wrong("objective", "each objective once")
        of.word("word", _OUTCOMES)
        stated[name] = Stated(against, _difference(of), flag_of(of, "across_attempts"))
    return stated


def _difference(of: Checked) -> Difference:
    # Imported here: tables of records are made where there is no scipy.
    from analysis.statistics.difference import Difference

    difference = Difference(
        log_ratio=number_of(of, "log_ratio", -150, 150),
        standard_error=number_of(of, "standard_error", 0, 1e3),
        df=number_of(of, "df", 1e-3, _MAX_NUMBER),
        n=of.whole("n", 2, _MAX_COUNT),
        paired=flag_of(of, "paired"),
        estimand="typical" if of.word("estimand", _ESTIMANDS) == "typical" else "mean",
        cut=of.whole("cut", 0, _MAX_COUNT),
        units=of.whole("units", 0, _MAX_COUNT),
    )
    ratio = number_of(of, "ratio", 0, math.exp(151))
    if not math.isclose(ratio, difference.ratio, rel_tol=1e-6):
        raise of.wrong("ratio", f"{difference.ratio:.6g}, which is e to log_ratio")
    interval = difference.interval()
    for name, end in (("low", interval.low), ("high", interval.high)):
        if of.has(name) and not math.isclose(number_of(of, name, 0, 1e300), end, rel_tol=1e-6):
            raise of.wrong(name, f"{end:.6g}, the end of the 95 % interval by its error")
    return difference


def size_problem(cases: Sequence[CaseSummary]) -> str | None:
    """Return why these cases do not fit on a card; None where they do."""
    if len(cases) > MAX_CASES:
        return f"{plural(len(cases), 'case')}; a card has at most {MAX_CASES}"
    return None
