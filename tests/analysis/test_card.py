"""A card says what its results say: the same words for any margin, and the same when read again."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answer import Answer, analyze
from analysis.card import card_text
from analysis.results.alone import alone_of
from analysis.results.card_file import Card, CardCase, Instruments, Mean, NearCpus, read_card
from analysis.results.node_facts import CacheFacts, KindFacts, NodeFacts
from analysis.results.sources import open_results
from analysis.verdict.model import CaseFinding
from base.decoding import decoded, encoded
from base.errors import UserError
from configs.core_kinds import KIND_ORDER
from tests.analysis.report.made_results import make_results
from tests.analysis.verdict.test_printed import printing
from tests.analysis.verdict.test_slowdowns import ALONE_S, BESIDE_S, OTHER_BESIDE_S, OTHER_S
from tests.analysis.verdict.test_slowdowns import runs as runs_beside
from tests.support.results import Study, record, without, write

PUBLICATION = "published:galante-2025"


def card_from(folder: Path | str, into: Path) -> Path:
    """Write the card of results and return its path."""
    results = open_results(str(folder))
    path = into / "card.json"
    path.write_bytes(card_text(results, analyze(results))[1])
    return path


def cases_of(answer: Answer) -> list[CaseFinding]:
    return [case for table in answer.tables for case in table.cases]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_results(tmp_path_factory.mktemp("made") / "node1", apps=(("lu", 3.0), ("cg", 9.0)))


@pytest.mark.parametrize("margin", [0.01, 0.1])
def test_comparisons_of_runs_in_blocks_are_the_same_on_the_card(
    study: Path, tmp_path: Path, margin: float
) -> None:
    of_runs = cases_of(analyze(open_results(str(study)), margin))
    of_card = cases_of(analyze(open_results(str(card_from(study, tmp_path))), margin))

    assert any(of.difference.paired for case in of_runs for of in case.comparisons.values())
    for mine, theirs in zip(of_runs, of_card, strict=True):
        assert mine.full_mapping == theirs.full_mapping
        assert mine.comparisons.keys() == theirs.comparisons.keys()
        for objective, comparison in mine.comparisons.items():
            other = theirs.comparisons[objective]
            assert other.difference == comparison.difference
            assert (other.outcome, other.p_different) == (
                comparison.outcome,
                comparison.p_different,
            )


def test_the_words_in_the_file_are_those_that_its_numbers_give(study: Path, tmp_path: Path) -> None:
    path = card_from(study, tmp_path)
    content = json.loads(path.read_text())
    answer = analyze(open_results(str(path)), content["margin"])
    given_words = {
        (str(place), objective): comparison["outcome"]
        for place, case in enumerate(content["cases"], 1)
        for objective, comparison in case.get("comparisons", {}).items()
    }
    assert given_words == {
        (case.case_id, str(objective)): comparison.outcome
        for case in cases_of(answer)
        for objective, comparison in case.comparisons.items()
    }


def test_another_baseline_is_compared_by_means_and_deviations(study: Path, tmp_path: Path) -> None:
    path = str(card_from(study, tmp_path))
    of_runs, of_card = (
        cases_of(analyze(open_results(of), baseline="pcores-set")) for of in (str(study), path)
    )
    for mine, theirs in zip(of_runs, of_card, strict=True):
        for objective, comparison in theirs.comparisons.items():
            assert not comparison.difference.paired
            assert comparison.difference.estimand == "mean"
            assert mine.comparisons[objective].difference.paired


def test_a_rate_is_compared_on_the_card_as_in_its_results(tmp_path: Path) -> None:
    write(tmp_path, printing({"unpinned": 100.0, "pcores-pin": 158.0}))
    mine = cases_of(analyze(open_results(str(tmp_path))))[1].comparisons["metric_rate"]
    theirs = cases_of(analyze(open_results(str(card_from(tmp_path, tmp_path)))))[1].comparisons
    assert mine.outcome == "better"
    assert theirs["metric_rate"].outcome == "better"
    assert theirs["metric_rate"].objective.identity == mine.objective.identity
    assert theirs["metric_rate"].difference == mine.difference


def test_of_names_that_are_paths_the_last_part_is_on_the_card(tmp_path: Path) -> None:
    names = {"app": "/home/alice/solver", "size": "~/n=1", "schedule": ""}
    write(tmp_path, printing({"unpinned": 100.0, "pcores-pin": 158.0}, "Gflop/s", **names))
    mine = cases_of(analyze(open_results(str(tmp_path))))[1].comparisons["metric_Gflop/s"]
    theirs = cases_of(analyze(open_results(str(card_from(tmp_path, tmp_path)))))[1]
    table = theirs.summary.key.table
    assert (table.app, table.size, table.schedule) == ("solver", "n=1", "unknown")
    assert theirs.comparisons["metric_s"].difference == mine.difference
    assert theirs.comparisons["metric_s"].objective.unit == "Gflop/s"


def test_settings_are_on_the_card_by_name(tmp_path: Path) -> None:
    asked = {"turbo": "off", "sched_ext": "scx_lavd --config=/home/alice/lavd"}
    write(tmp_path, [run | {"settings": asked} for run in Study({"unpinned": 1.0}).records()])
    (case,) = open_results(str(card_from(tmp_path, tmp_path))).cases
    assert case.key.settings.asked == {"turbo": "off", "sched_ext": "scx_lavd --config=lavd"}
    path = tmp_path / "card.json"
    path.write_text(path.read_text().replace('"turbo"', '"turb"'))
    with pytest.raises(UserError, match="setting 'turb' is not known; did you mean 'turbo'"):
        read_card(path)


def test_the_co_runner_alone_is_found_on_the_card(tmp_path: Path) -> None:
    write(tmp_path, runs_beside())
    cases = open_results(str(card_from(tmp_path, tmp_path))).cases
    (alone,) = alone_of(cases).values()
    assert alone.slowdown == pytest.approx(BESIDE_S / ALONE_S, rel=1e-3)
    assert alone.co_runner_slowdown == pytest.approx(OTHER_BESIDE_S / OTHER_S, rel=1e-3)


def test_a_publications_card_says_what_the_publication_says(tmp_path: Path) -> None:
    published = analyze(open_results(PUBLICATION))
    of_card = analyze(open_results(str(card_from(PUBLICATION, tmp_path))))
    assert of_card.decision_lines == published.decision_lines
    assert of_card.footnotes[:-1] == published.footnotes


def test_reasons_are_whole_and_those_of_failed_runs_no_causes_of_missing_numbers(
    tmp_path: Path,
) -> None:
    lost = {"status": "failed", "reason": "the guest was lost: see its log"}
    died = {"status": "alice-died", "reason": "as root"}
    measures = ("freq_mean_ghz", "migrations", "context_switches", "cache_misses", "energy_pkg_j")
    lacking = without(measures, "something of alice")
    write(tmp_path / "node1", [lacking, record(1, 2) | lost, record(1, 3) | died])

    (case,) = open_results(str(card_from(tmp_path / "node1", tmp_path))).cases

    other = ("a reason that only its own results tell",)
    assert {name: case.circumstances.reasons[name] for name in measures} == dict.fromkeys(
        measures, other
    )
    assert case.circumstances.reasons["failed"] == other
    assert "alice" not in (tmp_path / "card.json").read_text()


def test_the_same_results_make_the_same_card(study: Path, tmp_path: Path) -> None:
    first = card_from(study, tmp_path).read_bytes()
    assert card_from(study, tmp_path).read_bytes() == first
    assert len(first) < 200_000


def test_a_card_makes_no_card(study: Path, tmp_path: Path) -> None:
    results = open_results(str(card_from(study, tmp_path)))
    with pytest.raises(UserError, match="is a card already"):
        card_text(results, analyze(results))


def test_a_kernels_release_does_not_change_a_nodes_digest() -> None:
    node = NodeFacts("A CPU", (KindFacts("P", "0-7", 8),), memory_gib=32, kernel="6.8.0")
    assert msgspec.structs.replace(node, kernel="6.9.1").digest == node.digest
    assert msgspec.structs.replace(node, memory_gib=64).digest != node.digest


lines = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp", "Zs"]),
    min_size=1,
    max_size=30,
)
names = st.text("abcXYZ-_ 0189.:,ä", min_size=1, max_size=30)
fields = st.sampled_from(["energy_pkg_j", "elapsed_s"])
cpu_lists = st.sampled_from(["0", "0-7", "0,2,4", "8-23,31"])
nodes = st.builds(
    NodeFacts,
    cpu_model=lines,
    kinds=st.lists(
        st.builds(
            KindFacts, st.sampled_from(KIND_ORDER), cpu_lists, st.integers(1, 99), st.booleans()
        ),
        max_size=3,
    ).map(tuple),
    caches=st.lists(
        st.builds(
            CacheFacts, st.integers(1, 9), st.integers(1, 99), st.none() | st.integers(1, 2**40)
        ),
        max_size=4,
    ).map(tuple),
    memory_gib=st.none() | st.integers(0, 4096),
    kernel=st.none() | st.just("6.8.0-45"),
    drivers=st.lists(st.just("intel_pstate"), max_size=3).map(tuple),
    virtual_machine=st.none() | st.booleans(),
)
instruments = st.builds(
    Instruments,
    day=st.dates(),
    ok=st.integers(0, 99),
    absent=st.integers(0, 99),
    off=st.dictionaries(names, st.lists(fields, max_size=3).map(tuple), max_size=3),
)
ns = st.floats(0.01, 1e6)
cards = st.builds(
    Card,
    source=st.sampled_from(["measured", "imported", "published"]),
    schema=st.just(1),
    kind=st.just("card"),
    study=st.none() | names,
    study_digest=st.none() | st.just("d1" * 32),
    days=st.none() | st.tuples(st.dates(), st.dates()),
    versions=st.just({"perf": ("6.8.12",), "compiler": ("g++ 13.2.0", "gcc 14")}),
    node=st.none() | nodes,
    instruments=st.none() | instruments,
    latency=st.none()
    | st.lists(st.builds(NearCpus, cpu_lists, st.integers(1, 9), ns, ns), max_size=3).map(tuple),
    margin=st.floats(1e-6, 0.5),
    look=st.integers(1, 9),
    planned_looks=st.integers(1, 9),
    of_a_model=st.booleans(),
    daemons=st.just(("irqbalance",)),
    notes=st.lists(lines, max_size=4).map(tuple),
    unavailable=st.just({"node": "the publication does not tell its node"}),
    cases=st.just(
        (
            CardCase(
                app="lulesh",
                build="libgomp",
                size="s",
                schedule="static",
                wait_policy="active",
                case_number=1,
                threads=8,
                mapping="unpinned",
                governor="powersave",
                n=3,
                measures={"elapsed_s": Mean(4.5)},
                placed={"proved": 3},
            ),
        )
    ),
)


@given(card=cards)
def test_what_is_written_is_read_again(card: Card) -> None:
    again = decoded(encoded(card), Card)
    assert again == card
    (case,) = again.all_cases()
    assert (case.n, case.time.mean, case.circumstances.placed.proved) == (3, 4.5, 3)


@settings(max_examples=20)
@given(
    time=st.lists(st.floats(0.5, 2.0), min_size=3, max_size=3),
    repetitions=st.integers(2, 12),
    seed=st.integers(1, 10**6),
)
def test_cases_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, time: list[float], repetitions: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("study")
    names = ("unpinned", "pcores-set", "pcores-pin")
    energy = dict.fromkeys(names, 1.0)
    made = Study(dict(zip(names, time, strict=True)), energy, repetitions=repetitions, seed=seed)
    write(folder, made.records())
    read = read_card(card_from(folder, folder)).all_cases()
    for mine, theirs in zip(open_results(str(folder)).cases, read, strict=True):
        assert (theirs.key.table, theirs.key.number, theirs.n) == (
            mine.key.table,
            mine.key.number,
            mine.n,
        )
        assert (theirs.key.governor, theirs.key.mapping) == (mine.key.governor, mine.key.mapping)
        assert theirs.circumstances.placed == mine.circumstances.placed
        for name in ("elapsed_s", "energy_pkg_j", "migrations"):
            assert theirs.stats[name] == mine.stats[name]
