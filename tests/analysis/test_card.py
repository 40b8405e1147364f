"""A card says what its results say, names nobody, and may come from anybody."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.analysis.answer import Answer, analyze
from pinstudy.analysis.card import card_text
from pinstudy.analysis.results.baselines import alone_of
from pinstudy.analysis.results.card_file import (
    MAX_BYTES,
    MAX_CASES,
    Card,
    KindFacts,
    NodeFacts,
    read_card,
)
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.verdict.model import CaseFinding
from pinstudy.base import PINSTUDY
from pinstudy.base.decoding import decoded, encoded
from pinstudy.base.errors import UserError
from pinstudy.runners.prove.proof import keep
from pinstudy.runners.records.instruments import Finding, Proof, path_beside
from pinstudy.runners.records.line import sealed
from tests.analysis.latency.made_latency import Planted, content_of
from tests.analysis.report.made_results import DIGEST, make_results
from tests.analysis.verdict.test_printed import printing
from tests.analysis.verdict.test_slowdowns import ALONE_S, BESIDE_S, OTHER_BESIDE_S, OTHER_S
from tests.analysis.verdict.test_slowdowns import runs as runs_beside
from tests.support.changed import with_value
from tests.support.cli import pinstudy
from tests.support.results import Study, record, without, write
from tests.support.tools import ROOT

PUBLICATION = "published:galante-2025"


def card_from(folder: Path | str, into: Path) -> Path:
    """Write the card of results and return its path."""
    results = open_results(str(folder))
    path = into / "card.json"
    path.write_bytes(card_text(results, analyze(results))[1])
    return path


def answer_of_card(folder: Path | str, into: Path) -> Answer:
    return analyze(open_results(str(card_from(folder, into))))


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

    assert any(made.difference.paired for case in of_runs for made in case.comparisons.values())
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
    written = {
        (str(place), objective): comparison["outcome"]
        for place, case in enumerate(content["cases"], 1)
        for objective, comparison in case.get("comparisons", {}).items()
    }
    assert written == {
        (case.case_id, str(objective)): comparison.outcome
        for case in cases_of(analyze(open_results(str(path)), content["margin"]))
        for objective, comparison in case.comparisons.items()
    }
    # The same results make the same card, and a card makes none.
    first = path.read_bytes()
    assert card_from(study, tmp_path).read_bytes() == first
    assert len(first) < 200_000
    results = open_results(str(path))
    with pytest.raises(UserError, match="is a card already"):
        card_text(results, analyze(results))


def test_another_baseline_is_compared_by_means_and_deviations(study: Path, tmp_path: Path) -> None:
    path = str(card_from(study, tmp_path))
    of_runs, of_card = (
        cases_of(analyze(open_results(name), baseline="pcores-set")) for name in (str(study), path)
    )
    for mine, theirs in zip(of_runs, of_card, strict=True):
        for objective, comparison in theirs.comparisons.items():
            assert not comparison.difference.paired
            assert comparison.difference.estimand == "mean"
            assert mine.comparisons[objective].difference.paired


def test_a_rate_is_compared_on_the_card_and_of_paths_the_last_part_is_there(tmp_path: Path) -> None:
    names = {"app": "/home/alice/solver", "size": "~/n=1", "schedule": ""}
    write(tmp_path, printing({"unpinned": 100.0, "pcores-pin": 158.0}, "Gflop/s", **names))
    mine = cases_of(analyze(open_results(str(tmp_path))))[1].comparisons["metric_Gflop/s"]
    theirs = cases_of(answer_of_card(tmp_path, tmp_path))[1]
    table = theirs.summary.key.table
    assert (table.app, table.size, table.schedule) == ("solver", "n=1", "unknown")
    rate = theirs.comparisons["metric_s"]
    assert (rate.outcome, rate.difference) == (mine.outcome, mine.difference)
    assert (rate.outcome, rate.objective.unit) == ("better", "Gflop/s")


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
    of_card = answer_of_card(PUBLICATION, tmp_path)
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


def test_a_kernels_release_does_not_change_a_nodes_digest() -> None:
    node = NodeFacts("A CPU", (KindFacts("P", "0-7", 8),), memory_gib=32, kernel="6.8.0")
    assert msgspec.structs.replace(node, kernel="6.9.1").digest == node.digest
    assert msgspec.structs.replace(node, memory_gib=64).digest != node.digest


@settings(max_examples=10)
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
        assert (theirs.key.table, theirs.key.number) == (mine.key.table, mine.key.number)
        assert (theirs.key.governor, theirs.key.mapping) == (mine.key.governor, mine.key.mapping)
        assert (theirs.n, theirs.circumstances.placed) == (mine.n, mine.circumstances.placed)
        for name in ("elapsed_s", "energy_pkg_j", "migrations"):
            # As text: of statistics that are no number, Python 3.13 says that none equals itself.
            assert repr(theirs.stats[name]) == repr(mine.stats[name])


# A card comes from anybody: each wrong value is one line that says where it is.
GOOD: dict[str, Any] = json.loads((ROOT / "cards" / "galante-2025.json").read_text())
# Two cases with a comparison are enough for the rest.
GOOD["cases"] = GOOD["cases"][:2]


CASE, TIME = "cases.1", "cases.1.comparisons.time"
MEAN = "cases.1.measures.elapsed_s"
LINE = "expected one printable line of at most"
KINDS = {"name": "P", "cpus": "0", "cores": 1}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("schema", 2, "schema: expected 1, found '2'"),
        ("schema", True, "schema: expected 1, found 'True'"),
        ("kind", "latency", "kind: expected card, found 'latency'"),
        ("evil", 1, "key 'evil' is not known"),
        ("source", "made up", "source: expected one of measured, imported, published"),
        ("cases", [], "cases: expected a list of 1 to 1000, found a list"),
        ("cases", GOOD["cases"][:1] * (MAX_CASES + 1), "cases: expected a list of 1 to"),
        ("margin", 2, "margin: expected a number from 1e-09 to 1, found '2'"),
        ("margin", float("nan"), "it is no JSON: "),
        ("look", 0, "look: expected a whole number from 1 to 1000, found '0'"),
        ("days", ["2026-13-01"] * 2, "days[0]: expected a day such as 2026-11-22, found '2026-13"),
        ("notes", ["two\nlines"], f"notes[0]: {LINE}"),
        ("notes", ["one\n"], f"notes[0]: {LINE}"),
        ("notes", ["\x1b[31mred"], f"notes[0]: {LINE}"),
        ("notes", ["\u202ered"], f"notes[0]: {LINE}"),
        ("versions", {"perf": ["6.8.12-zeus17"]},
         "versions.perf[0]: expected the number of a version, of a compiler or runtime with its "
         "name, found '6.8.12-zeus17'"),
        ("versions", {"zeus17": ["1"]}, "versions: expected as a key one of pinstudy, "),
        ("study", "x" * 401, "study: expected a name on one printable line"),
        ("study", "/home/x", "study: expected a name on one printable line"),
        ("node.host", "zeus17", "node: key 'host' is not known"),
        ("node.cpu_model", 7, f"node.cpu_model: {LINE} 100"),
        ("node.kernel", "6.8.0-zeus17", "node.kernel: expected the number of a kernel's"),
        ("node.kinds", [KINDS | {"name": "Q"}], "kinds[0].name: expected one"),
        ("node.kinds", [KINDS | {"cpus": "0-"}],
         "node.kinds[0].cpus: expected a list of CPUs such as 0-3,8, found '0-'"),
        (f"{MEAN}.mean", "fast", "measures.elapsed_s.mean: expected a number from -1e+30 to"),
        (f"{MEAN}.mean", 1e31, "measures.elapsed_s.mean: expected a number from -1e+30 to"),
        (f"{MEAN}.mean", [1], "cases[1].measures.elapsed_s.mean: expected a number from"),
        (f"{MEAN}.mean", -1, "cases[1]: measures.elapsed_s.mean: expected 0 or more, found -1"),
        (f"{MEAN}.sd", -1, "cases[1].measures.elapsed_s.sd: expected a number from 0 to"),
        (f"{CASE}.n", 1.5, "cases[1].n: expected a whole number from 0 to"),
        (f"{CASE}.threads", True, "cases[1].threads: expected a whole number from 1 to"),
        (f"{CASE}.app", "a\x1b[2J", "cases[1].app: expected a name on one printable line"),
        (f"{CASE}.path", "/home/x", "cases[1]: key 'path' is not known"),
        (f"{CASE}.measures", {"evil": {"mean": 1}}, "cases[1]: measure 'evil' is not known"),
        (f"{CASE}.placed", {"proved": -1}, "cases[1].placed.proved: expected a whole number"),
        (f"{CASE}.disturbed", {"evil": 3}, "cases[1].disturbed: expected as a key one of thro"),
        (f"{CASE}.reasons", {"elapsed_s": ["of alice"]}, "reasons.elapsed_s[0]: expected one of"),
        (f"{TIME}.against", 77,
         "cases[1].comparisons.time.against: expected the place of another case, found '77'"),
        (f"{TIME}.against", 2, "against: expected the place of another case, found '2'"),
        (f"{TIME}.ratio", 0.5, "cases[1].comparisons.time: ratio is 0.5, and 1.00257 by"),
        (f"{TIME}.low", 0.1, "cases[1].comparisons.time: low is 0.1, and 1.00182 by its"),
        (f"{TIME}.outcome", "splendid", "comparisons.time.outcome: expected one of better"),
        (f"{TIME}.log_ratio", -1e3, "comparisons.time.log_ratio: expected a number from"),
        (f"{TIME}.standard_error", -1, "comparisons.time.standard_error: expected a number"),
        (f"{TIME}.df", 0, "comparisons.time.df: expected a number"),
        (f"{TIME}.n", 1, "comparisons.time.n: expected a whole number from 2 to"),
    ],
)  # fmt: skip
def test_each_wrong_value_is_one_line_with_its_place(
    tmp_path: Path, path: str, value: object, where: str
) -> None:
    file = tmp_path / "card.json"
    file.write_text(json.dumps(with_value(GOOD, path, value)))
    with pytest.raises(UserError) as error:
        read_card(file)
    text = str(error.value)
    assert text.startswith(f"{file}: ")
    assert where in text
    assert "\n" not in text and text.isprintable()
    assert text.endswith(f"expected a card that `{PINSTUDY} card` has written")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is no JSON"),
        (b"[]", "expected a table of keys, found a list"),
        (b"{}", "schema is missing"),
        (b'{"schema": 1, "kind": "card", "cases": [{}]}', " is missing"),
        (b"\xff\xfe", "it is no JSON"),
        (b"[" * 100_000, "expected a table of keys"),
        (b" " * (MAX_BYTES + 1), "cannot be read"),
    ],
)
def test_a_file_that_is_no_card(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(data)
    with pytest.raises(UserError, match="expected a card") as error:
        read_card(path)
    assert why in str(error.value)


def test_a_comparison_of_what_has_no_mean_is_none(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    assert set(GOOD["cases"][1]["comparisons"]) == {"time"}
    path.write_text(json.dumps(with_value(GOOD, f"{CASE}.measures", {})))
    (case,) = (case for case in analyze(open_results(str(path))).cases if case.number == 2)
    assert case.comparisons == {}


def places(value: object, path: str = "") -> list[str]:
    """Return the paths to all values in a JSON value."""
    items: list[tuple[object, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path, *(at for key, inner in items for at in places(inner, f"{path}.{key}"))]


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.just([]), st.just({}), st.just([[]]), st.just(10**400), st.just("9" * 400),
)  # fmt: skip


@settings(max_examples=100)
@given(at=st.sampled_from(places(GOOD)[1:]), value=SCALARS)
def test_any_value_in_any_place_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: str, value: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "card.json"
    path.write_text(json.dumps(with_value(GOOD, at[1:], value)))
    try:
        results = open_results(str(path))
    except UserError as error:
        assert str(error).startswith(f"{path}: ")
        assert str(error).isprintable()
        return
    analyze(results)


# No identity of a node or its users is on a card, wherever the results have one.
HOST, USER, SERIAL = "zeus17", "mmustermann", "SN4711"
MARK = f"{HOST} {USER} {SERIAL} /home/{USER}/secret/{HOST}"
NAMES = re.compile(f"{HOST}|{USER}|{SERIAL}|secret|/home|/scratch|b00t", re.IGNORECASE)
TITLE = f"Does the solver of {USER} want P-cores?"

# What identifies nobody, or is what a card is about: pinstudy's words, numbers, an author's names.
KEPT = (
    *("schema", "study", "study_digest", "case_id", "node_digest", "app", "build", "size"),
    *("schedule", "wait_policy", "mapping", "selection", "binding", "mechanism", "cpus"),
    *("governor", "driver", "governor_read", "status", "started_at"),
)
MORE = {
    "command": [f"/home/{USER}/bin/solver", f"--input=/scratch/{USER}/{HOST}.dat"],
    "environment": {"set": {"HOME": f"/home/{USER}"}, "removed": [f"{HOST}_X"]},
    "study_file": f"/home/{USER}/study.yaml",
    "runtime": {"name": "libgomp.so.1", "version": f"13.2.0-{HOST}", "path": f"/home/{USER}/l.so"},
    "built_with": f"g++ 13.2.0 -O3 -I/home/{USER}/include -DHOST={HOST}",
    "versions": {"pinstudy": "0.1.0", "perf": f"6.8.12-{HOST}", HOST: USER},
    "stderr_tail": MARK,
    "daemons": ["irqbalance", f"{USER}d"],
    "foreign_tasks": [{"command": USER, "cpu_s": 0.2}],
    "pool_of": HOST,
    "boot_id": "b00t",
    "node_id": HOST,
    "run_id": f"{HOST}-1",
    "power_limit_note": MARK,
    "reason": "",
}


def planted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value of JSON with the mark behind every text."""
    if isinstance(value, dict):
        return {key: planted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [planted(inner) for inner in value]
    return f"{value} {MARK}" if isinstance(value, str) else value


def plant_in_records(folder: Path) -> None:
    """Put identities into every field of the records that is none of KEPT."""
    for path in (folder / "records").glob("*.jsonl"):
        lines = []
        for line in path.read_text().splitlines():
            record = json.loads(line)
            changed = {
                key: value if key in KEPT or key == "placement" else planted(value)
                for key, value in record.items()
            }
            changed["unavailable"] = planted(
                record.get("unavailable", {}) | {"cache_misses": "perf lacks the event"}
            )
            changed.pop("cache_misses", None)
            more = dict(MORE)
            if record["status"] != "ok":
                more["reason"] = f"left out: {record.get('reason')} {MARK}"
            changed.pop("crc32")
            lines.append(sealed(json.dumps(changed | more).encode()))
        path.rename(path.with_name(f"{HOST}-0001.jsonl"))
        path.with_name(f"{HOST}-0001.jsonl").write_bytes(b"".join(lines))


def plant_in_node(folder: Path) -> None:
    """Put identities into every text of the node's file but the facts of a card."""
    path = folder / "nodes" / f"{DIGEST}.json"
    node = json.loads(path.read_text())
    facts = ("cpu_model", "topology", "cpufreq", "highest_perf", "cpu_capacity", "isolated")
    changed = planted(node) | {name: node[name] for name in facts}
    changed["kernel"] = f"6.12.3-{HOST}+"
    changed |= dict.fromkeys(("product", "firmware", "kernel_build", "serial"), MARK)
    for kind in changed["topology"]["kinds"]:
        kind["evidence"] = MARK
    changed["topology"]["notes"] = [MARK]
    changed["cpufreq"] |= {"drivers": {"intel_pstate": "0-15", MARK: "0"}, "reason": MARK}
    path.write_text(json.dumps(changed))


def plant_in_proof(folder: Path) -> None:
    off = Finding("energy", "package", "off", MARK, MARK, MARK, ("energy_pkg_j",))
    proof = Proof(HOST, DIGEST, "b00t", "2026-11-26T09:12:00Z", 60.0, False, (off,))
    keep(proof, path_beside(folder, DIGEST))


def plant_in_latency(folder: Path) -> None:
    """Write latencies of two groups of four CPUs, measured on this host."""
    groups = range(4), range(4, 8)
    two = Planted(8, 90.0, near=((groups[0], 30.0), (groups[1], 35.0)), l3=groups)
    content = content_of(two) | {"node_id": HOST}
    (folder / "latency.json").write_text(json.dumps(content | {"program": MARK}))


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(USER) / "study" / HOST
    folder.mkdir(parents=True)
    make_results(folder, apps=(("lu", 3.0),), threads=(1, 4), repetitions=5)
    (folder / "study.yaml").write_text(f"title: {TITLE}\nnote: {MARK}\n")
    plant_in_records(folder)
    plant_in_node(folder)
    plant_in_proof(folder)
    plant_in_latency(folder)
    return folder


@pytest.fixture(scope="module")
def text(marked: Path) -> str:
    pinstudy(marked, "card", ".", status=0)
    return (marked / "card.json").read_text()


def test_no_name_is_on_the_card_that_its_results_have(marked: Path, text: str) -> None:
    files = [path for path in marked.rglob("*.json*") if path.name != "card.json"]
    assert len(files) == 4
    assert all(NAMES.search(path.read_text()) for path in files)
    assert NAMES.findall(text) == []
    # Nor are the folders of pinstudy and of the results, also where a file is missing.
    (marked / "latency.json").rename(marked / "aside.json")
    try:
        pinstudy(marked, "card", ".", "--output", "less.json", status=0)
    finally:
        (marked / "aside.json").rename(marked / "latency.json")
    for card in (text, (marked / "less.json").read_text()):
        assert str(ROOT) not in card and str(marked.parent.parent) not in card
    (marked / "less.json").unlink()
    read = decoded(text.encode(), Card)
    assert decoded(encoded(read), Card) == read


def test_the_facts_are_there_all_the_same(text: str) -> None:
    card = json.loads(text)
    node = card["node"]
    assert (node["cpu_model"], node["kernel"]) == ("Made-up Core i5-13600K", "6.12.3")
    assert [(kind["name"], kind["cpus"], kind["cores"]) for kind in node["kinds"]] == [
        ("P", "0-11", 6),
        ("E", "12-15", 4),
    ]
    assert (node["memory_gib"], node["drivers"]) == (32, ["intel_pstate"])
    assert card["instruments"] == {
        "day": "2026-11-26",
        "ok": 0,
        "absent": 0,
        "off": {"energy package": ["energy_pkg_j"]},
    }
    assert card["versions"] == {
        "pinstudy": ["0.1.0"],
        "perf": ["6.8.12"],
        "compiler": ["g++ 13.2.0"],
        "OpenMP runtime": ["libgomp 13.2.0"],
    }
    assert {near["cpus"]: near["median_ns"] for near in card["latency"]} == {
        "0-7": pytest.approx(90.0, rel=0.05),
        "0-3": pytest.approx(30.0, rel=0.05),
        "4-7": pytest.approx(35.0, rel=0.05),
    }
    # What was not measured has its cause in pinstudy's own words.
    measured = [case for case in card["cases"] if "skipped" not in case]
    lacking = ["no such counter, or perf lacks it"]
    assert [case["reasons"]["cache_misses"] for case in measured] == [lacking] * len(measured)
