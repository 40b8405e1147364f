"""What stands in a report, read from its HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import Answer, analyze
from pinstudy.analysis.card import card_text
from pinstudy.analysis.imports.perf import import_logs
from pinstudy.analysis.overview.terminal import overviews_of
from pinstudy.analysis.overview.text import cell_text
from pinstudy.analysis.report.demo import write_demo
from pinstudy.analysis.report.page import MAX_PICTURED, write_report
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.verdict_text.document import tables_of
from pinstudy.analysis.words.report import MAX_WORDS
from pinstudy.base.errors import UserError
from pinstudy.configs.repetitions import Race as Rule
from pinstudy.runners.records.line import line_of
from tests.analysis.advice.simulated_race import GAIN, NO_GAIN, write_results
from tests.analysis.affinity.made_demo import MadeDemo, make_demo
from tests.analysis.affinity.made_results import NO_L1D, ONE_PACKAGE, Affinity, make_affinity
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.analysis.report.hostile import make_hostile_affinity, make_hostile_results
from tests.analysis.report.made_results import DIGEST, NO_ENERGY, make_results
from tests.analysis.report.pages import Page, page_of
from tests.analysis.verdict.test_printed import RATES, printing
from tests.golden import canonical
from tests.support.results import (
    TWO_THREADS,
    Record,
    Study,
    in_table,
    left_out,
    record,
    without,
    write,
)
from tests.support.tools import DATA, ROOT

# Of the `quick` study's report.
MAX_BYTES = 400_000
HUGE = 1e308


def small(folder: Path, repetitions: int = 2) -> Path:
    """Write results of one table in a moment."""
    return make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=repetitions)


def runs(count: int, **fields: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    return [record(1, r, **fields) for r in range(1, count + 1)]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_results(tmp_path_factory.mktemp("study"), repetitions=6)


@pytest.fixture(scope="module")
def findings(study: Path) -> Answer:
    return analyze(open_results(str(study)))


@pytest.fixture(scope="module")
def page(study: Path) -> Page:
    return page_of(study, MAX_PICTURED)


def test_the_first_section_is_the_overview(findings: Answer, page: Page) -> None:
    (overview,) = overviews_of(findings)
    text = page.of("answer")
    # One of six runs of pcores-set failed there, so that it is not compared.
    assert text.startswith(
        "Confine threads ( pcores-set ) in 11 of 12 configurations: 2.5 to 3.2 % less time. "
        "Pin them ( pcores-pin ) in 1: 2."
    )
    assert re.search(r"\d cases? not compared for it", text)
    assert all(line.label in text for line in overview.lines)
    told = [
        cell_text(cells[column], objective)
        for line in overview.lines
        for objective, cells in line.cells.items()
        for column in overview.columns
    ]
    assert [cell for cell in told if cell not in text] == []


def test_what_is_undecided_comes_with_the_command_that_helps(tmp_path: Path) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    made = Study({"unpinned": 1.0, "pcores-pin": 0.98}, repetitions=5, noise=0.04)
    write(folder, [run | {"study_file": "quick"} for run in made.records()])
    answer = page_of(folder).of("answer")
    assert "1 of 1 comparison; about 6 min" in answer
    assert analyze(open_results(str(folder))).next_command in answer


def test_the_page_has_the_tables_and_notes_of_the_verdict(findings: Answer, page: Page) -> None:
    for number, table in enumerate(findings.tables, 1):
        text = page.of(f"section-{number}")
        for found in tables_of(table, findings.margin):
            assert found.caption in text
            for row in found.cells:
                assert " ".join(row) in text
            for _, note in found.notes:
                assert note in text
        assert ("typical package energy" in text) == ("energy" in table.cases[0].samples)
    assert "1 of 6 runs slow" in page.of("section-1")


def test_a_column_of_nothing_is_left_out_of_the_page(tmp_path: Path) -> None:
    without_misses = {"cache_misses": None, "unavailable": {"cache_misses": "perf: refused"}}
    write(tmp_path, [*runs(3, **without_misses), left_out(2, "the node has no P-cores")])
    page = page_of(tmp_path)
    assert "cache misses" not in page.of("section-1")
    # Nor has the page a note that no cell of its tables has.
    assert "(b) left out: the node has no P-cores" in page.of("tables")
    assert "(a) perf: refused" not in page.of("tables")
    assert "cache misses: refused" in page.of("answer")


# The sections of one study's report, and what must stand in them.
SECTIONS = {
    "aside": [
        "#5 ecores-pin (performance) 6 placement-violated thread 3 was seen",
        "#7 pcores-set (powersave) 2 failed exit status 134: mesh volume",
    ],
    "missing-section": [
        NO_ENERGY,
        "energy_pkg_j, edp_js, ed2p_js2",
        "table 5: #1, #2, #3",
        "4 threads need 4 CPUs; ecores has 3 here",
        "table 2: #5, #10; table 4: #5, #10",
        "firmware the node node1 /sys/class/dmi/id/bios_version is missing",
    ],
    "again": [
        "bin/pinstudy run paper-serial.yaml",
        "mappings: [unpinned, pcores-set,",
        *("perf version 6.12", "6.12.0-made-up", "14.2.0", "(pinstudy) 0.1.0"),
        "OMP_NUM_THREADS=4 taskset -c 0-15 bin/lu-libgomp -s 30",
    ],
    "nodes": [
        "no lstopo picture is beside the records",
        *("6 P-cores (CPUs 0-11)", "cpu_core/cpus", "0x12b", "PL1 125.0 W", "24 MiB"),
    ],
}


@pytest.mark.parametrize("section", SECTIONS)
def test_all_that_a_reader_needs_stands_in_its_section(page: Page, section: str) -> None:
    text = page.of(section)
    assert [expected for expected in SECTIONS[section] if expected not in text] == []


# Records, the section that tells of them, and what it says.
SAID: dict[str, tuple[list[Record], str, str]] = {
    "warm-up runs are counted": (
        [record(1, 1, warmup=True), *runs(5)],
        "aside", "Every run was good. Warm-up runs, which are never averaged: 1."),
    "not a single good run": (
        [record(1, 1, status="failed", reason="exit status 3"), left_out(2, "no CPUs")],
        "aside", "exit status 3"),
    "no run": ([left_out(1, "no CPUs")], "aside", "No run was made."),
    "a case left out": ([left_out(2, "no CPUs")], "missing-section", "no CPUs"),
    "what was measured leaves out what was not": (
        [*runs(2), left_out(2, "no CPUs")],
        "", "From 1 table, 1 case and 2 runs that are averaged (1 more case was not run)"),
    "some runs": (
        [*runs(4), without(["energy_pkg_j"], "it wrapped", number=1, repetition=5)],
        "missing-section", "energy_pkg_j some runs of all cases it wrapped"),
    "vCPUs whose placement is unproved": (
        [record(1, r, engine="vm", vcpu_cpus="0", vcpu_placement={"verdict": verdict})
         for r, verdict in enumerate(("proved", "unproved"))],
        "missing-section", "the placement of vCPUs in 1 run table 1: #1"),
    "a continued study": (
        [record(number, r, attempt=1 + (r > 10), elapsed_s=45 + r % 3)
         for number in (1, 2) for r in range(1, 21)],
        "method", "interim analysis 2 of a study that was continued: outcomes are at 0.005 instead "
        "of 0.04"),
    "emulated guests": (
        runs(2, engine="vm", vm_accelerator="tcg"),
        "again", "bin/pinstudy run paper-serial.yaml --allow-emulation"),
    "a jump between two attempts": (
        [record(1, r, attempt=1 + (r > 12), elapsed_s=(45 if r <= 12 else 54) + r % 5 / 100)
         for r in range(1, 25)],
        "drift", "from attempt 1 to attempt 2: +20 %"),
    "ranks": (TWO_THREADS.records(), "", "CPUs of each rank: #1: 0-3 each; #2: 0 | 1 (order)"),
}  # fmt: skip


@pytest.mark.parametrize(("records", "section", "expected"), SAID.values(), ids=SAID)
def test_what_is_odd_about_records_stands_in_its_section(
    tmp_path: Path, records: list[Record], section: str, expected: str
) -> None:
    write(tmp_path, records)
    assert expected in page_of(tmp_path).of(section)


def test_a_study_is_run_again_with_the_options_that_it_was_run_with(tmp_path: Path) -> None:
    write(tmp_path, runs(2))
    options = "--threads 1,2 --only 'my app' --meter perf --repetitions 5 --site"
    (tmp_path / "study.yaml").write_text(f"# Run with {options} /far/room.yaml.\ntitle: x\n")
    assert f"bin/pinstudy run paper-serial.yaml {options} room.yaml" in page_of(tmp_path).of(
        "again"
    )


@pytest.mark.parametrize(
    "rule", [{"decide": {"first": 5, "max": "<b>"}}, {"decide": 3}, "soon", None]
)
def test_an_invalid_repetition_rule_is_not_shown(tmp_path: Path, rule: object) -> None:
    write(tmp_path, runs(2, repetition_rule=rule))
    assert "was repeated" not in page_of(tmp_path).of("method")


def test_excluded_runs_beyond_the_list_are_all_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinstudy.analysis.report.exclusions.MAX_RUNS", 1)
    reasons = ["", "", *(f"reason {n}" for n in range(60))]
    write(tmp_path, [record(1, r, status="failed", reason=why) for r, why in enumerate(reasons, 1)])

    aside = page_of(tmp_path).of("aside")

    assert "1 times failed: no reason given" in aside
    assert "11 times 11 further reasons" in aside
    assert "nan" not in aside


def test_all_cases_are_all_that_were_measured(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,status,n,elapsed_mean_s,energy_pkg_mean_j,reasons\n"
        "lu,1,unpinned,measured,5,4.5,9,\n"
        "lu,1,pcores-pin,measured,5,4.5,,energy_pkg_j: nobody asked\n"
        "lu,1,ecores-pin,skipped,0,,,energy_pkg_j: nobody asked\n"
    )
    assert "energy_pkg_j table 1: #2, #3 nobody asked" in page_of(tmp_path).of("missing-section")


def test_imported_runs_are_not_called_measured_by_pinstudy(tmp_path: Path) -> None:
    folder = tmp_path / "by hand"
    options: dict[str, str | int | None] = {"app": "lu", "threads": 1, "mapping": "unpinned"}
    import_logs([DATA / "perf_logs/three-runs.txt"], folder, options)

    page = page_of(folder)

    assert "imported from logs" in page.of("method")
    assert "CPU mask" not in page.of("method")
    assert "bin/pinstudy run" not in page.of("again")
    assert f"bin/pinstudy report '{folder}'." in page.of("again").replace(" .", ".")


@pytest.mark.parametrize("picture", ["", "no picture", "<svg>"])
def test_a_picture_that_is_none_is_not_shown(tmp_path: Path, picture: str) -> None:
    (small(tmp_path) / "nodes" / f"{DIGEST}.lstopo.svg").write_text(picture)
    assert "is no SVG picture" in page_of(tmp_path).of("nodes")


def test_a_study_its_apps_and_declared_kinds_are_shown_as_they_can_be_used_again(
    tmp_path: Path, page: Page
) -> None:
    folder = small(tmp_path)
    # Saved on Windows.
    title = "title: 'Mine #1: <b>all</b>'  # of me"
    study = f"\ufeff{title}\r\nrepetitions: 3\t# few\r\n"
    (folder / "study.yaml").write_bytes(study.encode())
    (folder / "apps").mkdir()
    (folder / "apps" / "lu.yaml").write_text("# The app\ntitle: <b>LU</b>\n")
    (folder / "apps" / "other.yaml").write_text("# Of no run\n")
    node = folder / "nodes" / f"{DIGEST}.json"
    node.write_text(node.read_text().replace('"declared": false', '"declared": true'))

    shown = page_of(folder)

    assert "To pin or not to pin, made up" in page.of()
    assert '<p class="question">Mine #1: &lt;b&gt;all&lt;/b&gt;</p>' in shown.html
    assert "\nrepetitions: 3  # few\n</pre>" in shown.html and "\ufffd" not in shown.html
    again = shown.of("again")
    assert "its apps into apps/ beside it" in again
    assert "The app lu # The app title: <b>LU</b>" in again
    assert "Of no run" not in again
    assert "paper-serial.yaml --kinds P=0-11,E=12-15" in again
    assert "--kinds" not in page.of("again")


def test_what_links_and_digests_lead_to_elsewhere_is_not_shown(tmp_path: Path) -> None:
    folder = small(tmp_path / "made")
    (tmp_path / "secret").write_text("<svg xmlns='http://www.w3.org/2000/svg'>$6$hash</svg>")
    (folder / "apps").mkdir()
    (tmp_path / "secret.json").write_text('{"kernel": "$6$hash", "cpu_model": "$6$hash"}')
    nodes = {f"nodes/{DIGEST}.lstopo.svg": "secret", f"nodes/{DIGEST}.json": "secret.json"}
    for name, target in (nodes | dict.fromkeys(("study.yaml", "apps/lu.yaml"), "secret")).items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(tmp_path / target)
    write(tmp_path / "results", runs(5, node_digest="../../secret"))

    assert "$6$hash" not in page_of(folder, MAX_PICTURED).html
    assert "$6$hash" not in page_of(tmp_path / "results").html


@pytest.mark.parametrize("node", ["", "[]", "{}", '{"topology": 3}', "[" * 100_000, "\xff"])
def test_a_damaged_node_file_is_no_obstacle(tmp_path: Path, node: str) -> None:
    (small(tmp_path) / "nodes" / f"{DIGEST}.json").write_text(node, encoding="latin-1")
    assert "undecided in 2 of 2 configurations" in page_of(tmp_path).of("answer")


def test_drift_is_reported_from_the_first_run_to_the_last(page: Page) -> None:
    # The model: 2 % slower from the first run to the last.
    match = re.search(r"drift over time: found, \+([0-9.]+)\s% ", page.of("drift"))

    assert match is not None
    assert 1.5 < float(match[1]) < 2.5


def test_results_of_which_no_line_can_be_read_have_no_report(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records/node1-0001.jsonl").write_bytes(b"no record\n")

    with pytest.raises(UserError, match=r"no run in its records \(1 line of the records"):
        write_report(str(tmp_path), None)

    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.parametrize(
    "values",
    [
        [{"elapsed_s": 1.0}, {"elapsed_s": -HUGE}, {"elapsed_s": HUGE}],
        [{"temperature_before_c": {"package 0": degrees}} for degrees in (40.0, -HUGE, HUGE)],
    ],
    ids=["times", "temperatures"],
)
def test_numbers_that_cannot_be_are_on_no_axis(
    tmp_path: Path, values: list[dict[str, Any]]
) -> None:
    (shard,) = (small(tmp_path, repetitions=3) / "records").glob("*.jsonl")
    lines = []
    for number, text in enumerate(shard.read_text().splitlines()):
        made = json.loads(text)
        made.pop("crc32", None)
        lines.append(line_of(made | values[number % len(values)]))
    shard.write_bytes(b"".join(lines))

    assert "e+308" not in write_report(str(tmp_path)).read_text()


def test_nothing_of_the_results_is_markup(tmp_path: Path) -> None:
    page = page_of(make_hostile_results(tmp_path)).html

    body = page.split("<body>")[1]
    assert len(re.findall(r"<script\b", body)) == 1
    assert "<img src=x" not in body
    # All SVG in the page is drawn by pinstudy; what lstopo drew stays an image.
    assert body.count("<svg") == body.count('<svg class="drawn') > 0
    elements = {
        name for svg in re.findall(r"<svg.*?</svg>", body) for name in re.findall(r"<(\w+)", svg)
    }
    assert elements <= {
        *("svg", "g", "path", "use", "text", "title", "defs"),
        *("clipPath", "rect", "pattern", "image"),
    }
    assert page.count("</style>") == 1
    assert "{{ 7*7 }}" in body


def test_the_policy_lets_nothing_in_and_only_this_script_run(page: Page) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page.html)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["style-src"])
    # The names of a picture's name spaces are no links.
    without_pictures = re.sub(r' src="data:[^"]*"', "", page.html)
    assert "http://" not in without_pictures
    assert "https://" not in without_pictures


def test_a_program_of_a_given_time_has_a_grid_of_what_it_prints_and_none_of_times(
    tmp_path: Path,
) -> None:
    write(tmp_path, printing(RATES, fixed_time=True))
    grids = re.findall(r'<caption id="grid-\d+-\d+-caption">([^<]+)', page_of(tmp_path).html)
    assert ["change of typical Gflop/s (rate) in %" in grid for grid in grids] == [True]


def test_the_report_of_the_quick_study_is_a_light_file(tmp_path: Path) -> None:
    # Its three programs, with 1 and 2 threads, under five mappings and one governor.
    make_results(tmp_path, threads=(1, 2), repetitions=20, governors=("performance",))
    page = page_of(tmp_path, MAX_PICTURED)
    assert page.html.count('class="results"') == 6
    assert len(page.html.encode()) < MAX_BYTES


def test_negative_numbers_have_a_minus_sign_and_command_lines_a_hyphen(page: Page) -> None:
    texts = re.sub(r"<(script|style|svg|pre|code)\b.*?</\1>|<[^>]+>", " ", page.html, flags=re.S)
    commands = re.findall(r"bin/\w+-libgomp -s 30", texts)
    assert commands
    assert re.findall(r"(?<![\w.-])-[0-9][0-9.]*", texts) == []
    assert re.search(r"\N{MINUS SIGN}[23]\.[0-9] ±0\.[0-9]", texts)


def test_figures_follow_the_page_and_share_no_id(page: Page) -> None:
    figures = re.findall(r"<svg.*?</svg>", page.html)
    assert not [figure for figure in figures if " style=" in figure or "#000000" in figure]
    assert all('fill="currentColor"' in figure for figure in figures)
    names = re.findall(r' id="([^"]+)"', page.html)
    assert len(names) == len(set(names))
    for figure in figures:
        own = set(re.findall(r' id="([^"]+)"', figure))
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', figure)) == own


def test_every_comparison_says_its_value_and_interval_to_a_pointer(
    findings: Answer, page: Page
) -> None:
    (overview,) = overviews_of(findings)
    marks = re.findall(r"<title>([^<]+)</title>", page.html.partition("<body>")[2])
    cells = re.findall(r'<td[^>]* title="([^"]+)"', page.html)
    for objective in overview.shown:
        compared = [cell for cell in overview.cells_of(objective) if cell.is_compared]
        assert compared
    total = sum(
        cell.is_compared for objective in overview.shown for cell in overview.cells_of(objective)
    )
    assert len([mark for mark in marks if " to " in mark]) >= total
    assert len([cell for cell in cells if "(95 %: " in cell]) == total


def test_a_report_says_how_to_cite_it(page: Page, tmp_path: Path) -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    software, publication = page.of("again").split("Cite ")[1].split(". Galante")
    (author,) = re.findall(r"- name: (.+)", cited)
    (version,) = re.findall(r"^version: (.+)", cited, flags=re.M)
    assert software == f"{author}: pinstudy {version} (software)"
    (title,) = re.findall(r'title: "(.+)"', cited)
    assert title in publication
    # A study of one's own redoes nobody's.
    write(tmp_path, runs(2, study="mine"))
    assert "Galante" not in page_of(tmp_path).of("again")


def test_a_report_of_many_tables_has_figures_of_the_first_and_says_so(
    study: Path, page: Page
) -> None:
    left_out = "this report has the figures of the first"
    assert left_out not in page.of("section-2")
    short = page_of(study, pictured=1)
    assert left_out not in short.of("section-1")
    assert f"{left_out} 1; pinstudy figures draws all" in short.of("section-2")
    assert len(short.drawings) < len(page.drawings)


def test_a_caption_says_whether_values_are_typical_or_means(tmp_path: Path) -> None:
    write(tmp_path, [record(number, 1) for number in (1, 2)])
    assert "Changes in %" not in page_of(str(tmp_path)).html
    assert "lulesh, 1 thread, performance: mean time" in page_of("published:galante-2025").of()
    runs = tmp_path / "runs"
    write(runs, Study({"unpinned": 1.0, "pcores-pin": 0.9}).records())
    assert "lulesh, 8 threads, performance: typical time" in page_of(str(runs)).of()


# A race has its advice in the place of verdicts.
def test_the_page_of_a_race_begins_with_its_advice_and_has_no_verdicts(tmp_path: Path) -> None:
    race = page_of(write_results(tmp_path, GAIN))
    places = [race.anchors.index(name) for name in ("answer", "advice", "tables")]
    assert places == sorted(places)
    assert '<p class="answer">4 threads, pcores-pin: 12' in race.html
    assert not [name for name in race.anchors if name.startswith("grid-")]
    assert "share one level" not in race.of()
    assert "The cases raced for the least time" in race.of()


def test_a_race_is_made_again_by_its_search(tmp_path: Path) -> None:
    folder = write_results(tmp_path, GAIN)
    (folder / "study.yaml").write_text("title: A search\n")
    again = page_of(folder).of("again")
    assert "pinstudy advise --fresh -- '/home/user/my app' -n 100" in again
    assert "pinstudy run" not in again
    (folder / "race.json").unlink()
    again = page_of(folder).of("again")
    assert "The command of the search is not beside the records" in again
    assert "pinstudy advise" not in again and "pinstudy run" not in again


def test_lines_of_a_race_are_text_and_its_commands_code(tmp_path: Path) -> None:
    bad = "</pre><script>alert(1)</script>"
    fields = {"command": ["taskset", "-c", "0", bad], "mapping": bad}
    best = replace(GAIN.entrants[3], more_fields=fields)
    made = replace(GAIN, entrants=(*GAIN.entrants[:3], best))
    noisy = replace(NO_GAIN, noise=0.2, stop=13, rule=Rule(runs=12))

    html = page_of(write_results(tmp_path / "hostile", made)).html
    undecided = page_of(write_results(tmp_path / "noisy", noisy))
    none = page_of(write_results(tmp_path / "none", NO_GAIN))

    assert bad not in html
    assert "&lt;/pre&gt;&lt;script&gt;" in html
    assert "undecided: raise <code>--runs</code> (12 now)" in undecided.html
    assert "go on with <code>pinstudy advise -- " in undecided.html
    assert "`" not in undecided.of("answer") + undecided.of("advice")
    # Leaving it has no lines of other launchers.
    assert "as you start it now: nothing tried was shown to be better" in none.of("answer")
    assert "Other launchers" not in none.of()


# The section on thread placements.
TITLE = "What a thread placement costs, and why"


def test_a_section_tells_all_experiments_with_placements(tmp_path: Path) -> None:
    write_latency_file(make_affinity(tmp_path, Affinity(repetitions=5)), content_of(PLANTED["smt"]))
    shown = page_of(tmp_path)
    experiments = ("contention", "smt", "pingpong", "threadmap", "latency")
    assert {f"affinity-{app}" for app in experiments} <= set(shown.anchors)
    text = shown.of()
    assert text.count(TITLE) == 1
    assert "who pins makes no difference (within 1 %)" in text
    # The latencies beside the records, with their mappings.
    assert "OMP_PLACES=" in text and "pinstudy latency -o" not in text


def test_a_card_says_nothing_of_what_its_study_did_not_measure(tmp_path: Path) -> None:
    write(tmp_path, [record(1, r, app="contention") for r in range(1, 6)])
    results = open_results(str(tmp_path))
    card = tmp_path / "contention.card.json"
    card.write_bytes(card_text(results, analyze(results))[1])
    for source, told in ((tmp_path, True), (card, False)):
        text = page_of(source).of()
        assert ("pinstudy latency -o" in text, "not collect c2c" in text) == (told, told)


def test_what_experiments_lack_has_its_reason(tmp_path: Path) -> None:
    study = Affinity(apps=("contention", "pingpong"), repetitions=2, l1d=False)
    text = page_of(make_affinity(tmp_path / "node", study)).of()
    skipped = "across-packages-pin-program, across-packages-pin (2 cases)"
    assert f"left out: {skipped}: {ONE_PACKAGE}" in text
    assert f"L1 load misses not counted: {NO_L1D}" in text
    assert f"`pinstudy latency -o {tmp_path / 'node'}`" in text
    assert "does not collect c2c" in text
    (tmp_path / "node" / "latency.json").write_text('{"schema": 1, "pairs": 3}')
    damaged = page_of(tmp_path / "node").of()
    assert "latencies not shown:" in damaged and "latency.json" in damaged

    reason = "the program smt-libgomp is not built"
    smt = list(Affinity(apps=("smt",), repetitions=1).records())
    write(tmp_path / "none", [run | {"status": "skipped", "reason": reason} for run in smt])
    assert f"cases): {reason}" in page_of(tmp_path / "none").of()
    teams = Affinity(apps=("threadmap",), repetitions=1, beside={"ranks": 2}).records()
    write(tmp_path / "ranks", [*smt, *teams])
    of_ranks = page_of(tmp_path / "ranks").of()
    why = "of 2 ranks of 4 threads: an experiment compares threads of one process"
    assert of_ranks.count(why) == 1
    assert "what threads were allowed" not in of_ranks


def test_hostile_results_of_experiments_are_text(tmp_path: Path) -> None:
    html = page_of(make_hostile_affinity(tmp_path)).html
    assert TITLE in html
    assert "<script>window" not in html
    assert "<img src=x" not in html
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & {*html}


def test_other_results_have_no_such_sections(tmp_path: Path) -> None:
    write(tmp_path, [record(n, repetition) for n in (1, 2) for repetition in (1, 2, 3)])
    shown = page_of(tmp_path)
    assert "advice" not in shown.anchors and TITLE not in shown.of()
    assert "grid-1-1" in shown.anchors


# The first screen: an answer that is short, by which data decide.
def answer_of(page: Page) -> str:
    """Return the answer as a reader sees it."""
    (answer,) = re.findall(r'<p class="answer">(.*?)</p>', page.html)
    text = re.sub(r"<[^>]+>", "", answer).replace("\N{NO-BREAK SPACE}", " ")
    return text.replace("&#39;", "'")


def half_decided(folder: Path) -> None:
    """Two programs, of which one gains 7 % on P-cores, and one is too noisy to tell."""
    clear = in_table(1, Study(canonical.TIMES).records())
    times = {"unpinned": 1.0, "pcores-set": 0.98}
    noisy = in_table(2, Study(times, repetitions=5, noise=0.05, seed=3).records(), app="lu")
    write(folder, [*clear, *noisy])


SO_FAR = r"So far, confine threads \(pcores-set\): 7\.\d % less time\."
# By a study's maker its answer, and whether the page says its decision again.
ANSWERS: dict[Callable[[Path], None], tuple[str, bool]] = {
    canonical.energy: (
        r"Confine threads \(pcores-set\): 7\.\d % less time, 3\.\d % less energy\.", True),
    half_decided: (
        r"Confine threads \(pcores-set\) in 1 of 2 configurations: [67](\.\d)? % less time\. "
        r"1 is undecided\.", False),
    canonical.alike: (
        r"Undecided: these runs show neither a gain nor that there is none\.", True),
    canonical.disturbed: (rf"Not reliable: 25 of 50 runs were disturbed\. {SO_FAR}", False),
    canonical.guests: (r"Confine virtual CPUs \(pcores-set\): 4\.\d % less time\.", True),
    canonical.co_runner: (r"No answer: no mapping could be compared with another\.", False),
}  # fmt: skip


@pytest.mark.parametrize(
    "make", dict.fromkeys([*canonical.RESULTS, *ANSWERS]), ids=lambda make: make.__name__
)
def test_the_answer_says_what_the_data_decide_in_few_words(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    shown = page_of(tmp_path)
    answer = answer_of(shown)
    assert 0 < len(answer.split()) <= MAX_WORDS == 30
    assert "`" not in answer
    expected, may_repeat = ANSWERS.get(make, (".*", True))
    assert re.fullmatch(expected, answer)
    assert may_repeat or "Decision" not in shown.of("answer")
    # Of energy, and of a third mapping, the answer says nothing.
    if make is canonical.energy:
        assert "for package energy: confine (ecores-set)" in shown.of("remarks")
    if make is canonical.disturbed:
        assert "pinstudy tune" in shown.of("next")


def test_the_first_screen_of_a_publication_counts_its_configurations() -> None:
    shown = page_of("published:galante-2025")
    assert "only means are known" in shown.of("method") and "Welch" in shown.of("method")
    with pytest.raises(UserError, match="--output"):
        write_report("published:galante-2025")
    answer = answer_of(shown)
    assert answer.startswith("Leave threads unpinned in 9 of 14 configurations. Pin them ")
    assert len(answer.split()) <= MAX_WORDS
    # What no configuration varies stands once, above the grid.
    assert shown.of().count("10 runs a case") == 1
    assert shown.of("answer").count("95 % intervals") == 0
    assert "lulesh x8 powersave: confine (pcores-set)" in shown.of("remarks")
    assert "pinstudy run quick" in shown.of("next")
    # A yardstick: it had 9,400 words beside its tables when comparisons were sentences.
    parts = r"<(script|style|table|svg)\b.*?</\1>|<[^>]+>"
    assert len(re.sub(parts, " ", shown.html, flags=re.DOTALL).split()) <= 9400 / 3
    # Three programs with one, two or three numbers of threads, each under two governors.
    (grid,) = re.findall(r'<table class="grid" id="grid-1-1".*?</table>', shown.html, flags=re.S)
    names = re.findall(r'<th scope="row"[^>]*class="(\w+)( same)?">', grid)
    rows = [column for column, same in names if not same]
    assert [rows.count(name) for name in ("program", "threads", "under")] == [3, 7, 14]


def test_a_grid_of_guests_names_their_mapping_above_its_columns(tmp_path: Path) -> None:
    canonical.guests(tmp_path)
    shown = page_of(tmp_path)
    (grid,) = re.findall(r'<table class="grid" id="grid-1-1".*?</table>', shown.html, flags=re.S)
    assert "in virtual machines, threads unpinned there" in grid
    columns = re.findall(r'<th scope="col" role="columnheader">([^<]+)', grid)
    assert columns == ["unpinned", "pcores-set", "pcores-pin"]
    assert "mapping in virtual machines against unpinned" in shown.of("levers")
    assert "unpinned/unpinned" not in shown.of("answer").partition("To know")[0]


# The page of a demo, which test_browser.py opens.
def test_a_demo_writes_its_page_numbers_and_a_picture_of_each_effect(tmp_path: Path) -> None:
    make_demo(tmp_path)
    (node,) = (tmp_path / "nodes").glob("*.json")
    facts = json.loads(node.read_text()) | {"cpu_model": "<script>alert(1)</script>"}
    node.write_text(json.dumps(facts))

    output = write_demo(tmp_path)

    pictures = ("contention", "false-sharing", "one-core", "latency", "threads")
    assert [file.name for file in output.files] == [
        *("demo.html", "demo.json"),
        *(f"{name}.{style}" for name in pictures for style in ("svg", "png")),
    ]
    assert all(file.stat().st_size for file in output.files)
    numbers = json.loads(output.files[1].read_text())
    assert numbers == json.loads(json.dumps(output.data))
    effects = ["contention", "false sharing", "one core", "latency", "who ran where"]
    assert [row["effect"] for row in numbers["rows"]] == effects
    html = output.files[0].read_text()
    assert "<script" not in html and "&lt;script&gt;" in html


def test_what_a_demo_could_not_measure_stands_on_its_page_with_the_reason(tmp_path: Path) -> None:
    make_demo(tmp_path, MadeDemo(left_out=["siblings-pin"], latency=False, apps=["smt"]))
    output = write_demo(tmp_path)
    html = output.files[0].read_text()
    assert "Not shown: no core has two usable CPUs (SMT is off or absent)." in html
    assert html.count('class="lacking"') == 5
    # How a picture is read stands below pictures alone.
    assert "The darker a cell" not in html
    assert [shown.picture is None for shown in output.rows] == [True, True, False, True, True]
