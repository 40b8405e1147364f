"""What stands in a report, read from its HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis.answer import Answer, find
from analysis.imports.perf import import_logs
from analysis.report.page import report_html, write_report
from analysis.results.sources import open_results
from base.errors import UserError
from tests.analysis.report.hostile import make_hostile_results
from tests.analysis.report.made_results import DIGEST, NO_ENERGY, make_results
from tests.support.results import Study, left_out, record, without, write
from tests.support.tools import DATA

MAX_BYTES = 5_000_000


class _Texts(HTMLParser):
    """Collects a page's texts by the id of the innermost section."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.images: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        of = dict(attributes)
        if tag == "section":
            self.sections.append(of.get("id") or "")
        if tag == "img":
            self.images.append(of)

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self.sections.pop()

    def handle_data(self, data: str) -> None:
        for section in self.sections or [""]:
            self.texts.setdefault(section, []).append(data)

    def of(self, section: str) -> str:
        return " ".join(" ".join(self.texts[section]).split())


def report_of(folder: Path) -> str:
    results = open_results(str(folder))
    return report_html(results, find(results))


def read(folder: Path) -> _Texts:
    return read_html(report_of(folder))


def read_html(html: str) -> _Texts:
    texts = _Texts()
    texts.feed(html)
    return texts


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_results(tmp_path_factory.mktemp("study"), repetitions=6)


@pytest.fixture(scope="module")
def findings(study: Path) -> Answer:
    return find(open_results(str(study)))


@pytest.fixture(scope="module")
def html(study: Path, findings: Answer) -> str:
    return report_html(open_results(str(study)), findings)


@pytest.fixture(scope="module")
def page(html: str) -> _Texts:
    return read_html(html)


def test_the_answer_is_the_findings_headline(findings: Answer, page: _Texts) -> None:
    for sentence in findings.headline:
        assert sentence in page.of("answer")


@pytest.mark.parametrize(
    ("repetitions", "why"), [(5, "from 10 repetitions on"), (10, "To decide what is undecided")]
)
def test_what_is_undecided_comes_with_the_command_that_helps(
    tmp_path: Path, repetitions: int, why: str
) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    made = Study({"scheduler": 1.0, "pcores-pin": 0.98}, repetitions=repetitions, noise=0.04)
    write(folder, [run | {"study_file": "quick"} for run in made.records()])
    answer = read(folder).of("answer")
    assert why in answer
    assert find(open_results(str(folder))).next_command in answer


def test_ratios_and_statistics_stand_beside_the_means(findings: Answer, html: str) -> None:
    assert html.count("ratios of typical values to the baseline</caption>") == len(findings.tables)
    case = findings.tables[0].cases[1]
    interval = case.samples["time"].mean_interval
    assert interval is not None
    assert f"{interval.low:.3f} to {interval.high:.3f}" in html
    ratio = case.comparisons["time"].difference.interval()
    assert f"{ratio.low:.3f} to {ratio.high:.3f}" in html
    for number, table in enumerate(findings.tables, 1):
        was_measured = "energy" in table.cases[0].samples
        assert (f"Table {number}: package energy, by case" in html) == was_measured


def test_every_excluded_run_stands_with_its_reason(page: _Texts) -> None:
    assert "#5 ecores-pin (performance) 6 placement-violated thread 3 was seen" in page.of("aside")
    assert "#7 pcores-set (powersave) 2 failed exit status 134: mesh volume" in page.of("aside")


def test_warm_up_runs_are_counted_and_no_excluded_ones(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, warmup=True), *(record(1, r) for r in range(1, 6))])

    aside = read(tmp_path).of("aside")

    assert "Every run was good." in aside
    assert "Warm-up runs, which are never averaged: 1." in aside


def test_where_no_run_was_made_none_is_called_good(tmp_path: Path) -> None:
    write(tmp_path, [left_out(1, "no CPUs")])
    aside = read(tmp_path).of("aside")
    assert "No run was made." in aside
    assert "good" not in aside


def test_excluded_runs_beyond_the_list_are_all_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.report.left_aside.MAX_RUNS", 1)
    reasons = ["", "", *(f"reason {n}" for n in range(60))]
    write(tmp_path, [record(1, r, status="failed", reason=why) for r, why in enumerate(reasons, 1)])

    aside = read(tmp_path).of("aside")

    assert "1 times failed: no reason given" in aside
    assert "11 times 11 further reasons" in aside
    assert "nan" not in aside


def test_vcpus_whose_placement_is_unproved_are_missing(tmp_path: Path) -> None:
    verdicts = [{"verdict": "proved"}, {"verdict": "unproved"}]
    guest = {"engine": "vm", "vcpu_mapping": "pcores-pin", "vcpu_cpus": "0-3"}
    write(tmp_path, [record(1, r, vcpu_placement=v, **guest) for r, v in enumerate(verdicts)])

    assert "the placement of vCPUs in 1 run table 1: #1" in read(tmp_path).of("missing-section")


def test_all_cases_are_all_that_were_measured(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,status,n,elapsed_mean_s,energy_pkg_mean_j,reasons\n"
        "lu,1,scheduler,measured,5,4.5,9,\n"
        "lu,1,pcores-pin,measured,5,4.5,,energy_pkg_j: nobody asked\n"
        "lu,1,ecores-pin,skipped,0,,,energy_pkg_j: nobody asked\n"
    )
    missing = read(tmp_path).of("missing-section")
    assert "energy_pkg_j table 1: #2, #3 nobody asked" in missing


def test_all_that_was_not_measured_stands_with_its_reason(page: _Texts) -> None:
    missing = page.of("missing-section")

    assert NO_ENERGY in missing
    assert "energy_pkg_j, edp_js, ed2p_js2" in missing
    assert "table 5: #1, #2, #3" in missing
    assert "4 threads need 4 CPUs; ecores has 3 here" in missing
    assert "table 2: #5, #10; table 4: #5, #10" in missing
    assert "firmware the node node1 /sys/class/dmi/id/bios_version is missing" in missing


def test_a_figure_that_is_not_drawn_says_not_measured_because(page: _Texts) -> None:
    assert f"not measured, because {NO_ENERGY}" in page.of("section-5")


def test_the_study_its_command_and_the_versions_are_kept(page: _Texts) -> None:
    again = page.of("again")

    assert "bin/pinstudy run paper-serial.yaml" in again
    assert "mappings: [scheduler, pcores-set," in again
    for version in ("perf version 6.12", "6.12.0-made-up", "14.2.0", "(pinstudy) 0.1.0"):
        assert version in again
    assert "OMP_NUM_THREADS=4 taskset -c 0-15 bin/lu-libgomp -s 30" in again


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"min": 5, "max": 50, "ci_half_width": 0.01, "of": ["time", "energy"]},
            "repeated 5 to 50 times: until the 95 % interval of its mean time and energy reached "
            "no further than 1 %",
        ),
        ({"min": 5, "max": 50, "ci_half_width": 0.01, "of": 3}, ""),
        ({"min": "<b>", "max": 50, "ci_half_width": 0.01, "of": ["time"]}, ""),
        ("soon", ""),
        (None, ""),
    ],
)
def test_what_ended_the_repetitions_is_said(tmp_path: Path, rule: object, said: str) -> None:
    write(tmp_path, [record(1, r, repetition_rule=rule) for r in (1, 2)])
    method = read(tmp_path).of("method")
    assert said in method
    assert ("was repeated" in method) == bool(said)


def test_the_comparisons_that_share_a_level_are_those_of_a_question(
    findings: Answer, page: _Texts
) -> None:
    assert findings.questions > 1
    assert (
        "The comparisons of one table, governor and objective share one level (Holm, 5 %): "
        f"{findings.comparisons} comparisons, which ask {findings.questions} such questions."
    ) in page.of("method")


def test_a_continued_study_says_at_which_level_it_is_tested(tmp_path: Path) -> None:
    runs = [
        record(number, r, attempt=1 + (r > 10), elapsed_s=45 + r % 3)
        for number in (1, 2)
        for r in range(1, 21)
    ]
    write(tmp_path, runs)
    assert "This is look 2 at a study that was continued: it is tested at 0.5 %" in (
        read(tmp_path).of("method")
    )


def test_the_question_names_no_more_thread_counts_than_there_are(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, threads=n, table_number=n, case_id=f"c{n}") for n in range(1, 9)])
    assert "with 1, 2, 3, 4, 5, 6 or more threads?" in report_of(tmp_path)


def test_the_command_repeats_declared_core_kinds(tmp_path: Path, page: _Texts) -> None:
    make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=2)
    node = tmp_path / "nodes" / f"{DIGEST}.json"
    node.write_text(node.read_text().replace('"declared": false', '"declared": true'))

    assert "paper-serial.yaml --kinds P=0-11,E=12-15" in read(tmp_path).of("again")
    assert "--kinds" not in page.of("again")


def test_the_command_allows_emulation_where_guests_were_emulated(tmp_path: Path) -> None:
    write(tmp_path, [record(1, r, engine="vm", vm_accelerator="tcg") for r in (1, 2)])
    assert "bin/pinstudy run paper-serial.yaml --allow-emulation" in read(tmp_path).of("again")


def test_a_study_saved_on_windows_is_shown_as_it_can_be_saved(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1)])
    (tmp_path / "study.yaml").write_bytes(b"\xef\xbb\xbftitle: mine\r\nrepetitions: 3\t# few\r\n")

    html = report_of(tmp_path)

    assert ">title: mine\nrepetitions: 3  # few\n</pre>" in html
    assert "\ufffd" not in html


def test_imported_runs_are_not_said_to_be_measured_by_pinstudy(tmp_path: Path) -> None:
    folder = tmp_path / "by hand"
    said: dict[str, str | int | None] = {"app": "lu", "threads": 1, "mapping": "scheduler"}
    import_logs([DATA / "perf_logs/three-runs.txt"], folder, said)

    page = read(folder)

    assert "imported from logs of perf stat" in page.of("method")
    assert "CPU mask" not in page.of("method")
    assert "bin/pinstudy run" not in page.of("again")
    assert f"bin/pinstudy report '{folder}'." in page.of("again").replace(" .", ".")


def test_a_node_without_a_picture_has_its_table_and_the_reason(page: _Texts) -> None:
    node = page.of("nodes")

    assert "no lstopo picture is beside the records" in node
    for text in ("6 P-cores (CPUs 0-11)", "cpu_core/cpus", "0x12b", "PL1 125.0 W", "24 MiB"):
        assert text in node


@pytest.mark.parametrize("picture", ["", "no picture", "<svg", "<svg>"])
def test_a_picture_that_is_none_is_not_shown(tmp_path: Path, picture: str) -> None:
    make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=2)
    (tmp_path / "nodes" / f"{DIGEST}.lstopo.svg").write_text(picture)

    page = read(tmp_path)

    assert "is no SVG picture" in page.of("nodes")


def test_a_link_to_what_is_nobody_s_business_is_not_shown(tmp_path: Path) -> None:
    folder = make_results(tmp_path / "made", apps=(("lu", 3.0),), threads=(1,), repetitions=2)
    (tmp_path / "secret").write_text("<svg xmlns='http://www.w3.org/2000/svg'>$6$hash</svg>")
    (folder / "apps").mkdir()
    (tmp_path / "fact.json").write_text('{"kernel": "$6$hash", "cpu_model": "$6$hash"}')
    for name, target in (
        ("study.yaml", "secret"),
        ("apps/lu.yaml", "secret"),
        (f"nodes/{DIGEST}.lstopo.svg", "secret"),
        (f"nodes/{DIGEST}.json", "fact.json"),
    ):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(tmp_path / target)

    html = write_report(str(folder), None).read_text()

    assert "$6$hash" not in html


def test_the_files_of_the_apps_stand_beside_the_study(tmp_path: Path) -> None:
    folder = make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=2)
    (folder / "apps").mkdir()
    (folder / "apps/lu.yaml").write_text("# The app\ntitle: <b>LU</b>\n")
    (folder / "apps/other.yaml").write_text("# Of no run\n")

    again = read(folder).of("again")

    assert "its apps into apps/ beside it" in again
    assert "The app lu # The app title: <b>LU</b>" in again
    assert "Of no run" not in again


@pytest.mark.parametrize("node", ["", "[]", "{}", '{"topology": 3}', "[" * 100_000, "\xff"])
def test_a_damaged_node_file_is_no_obstacle(tmp_path: Path, node: str) -> None:
    make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=2)
    (tmp_path / "nodes" / f"{DIGEST}.json").write_text(node, encoding="latin-1")

    assert "For time" in read(tmp_path).of("answer")


def test_a_digest_leads_to_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"cpu_model": "secret", "node_id": "secret"}')
    folder = tmp_path / "results"
    write(folder, [record(1, r, node_digest="../../secret") for r in range(1, 6)])

    assert "secret" not in report_of(folder).replace("../../secret", "")


def test_drift_is_told_from_the_first_run_to_the_last(page: _Texts) -> None:
    # The model: 2 % slower from the first run to the last.
    told = re.search(r"Runs became slower as the study went on: by ([0-9.]+) %", page.of("drift"))

    assert told is not None
    assert 1.5 < float(told[1]) < 2.5


def test_a_jump_between_two_attempts_is_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            record(1, r, attempt=1 + (r > 12), elapsed_s=(45 if r <= 12 else 54) + r % 5 / 100)
            for r in range(1, 25)
        ],
    )

    assert "From attempt 1 to attempt 2 runs became slower by 20 %" in read(tmp_path).of("drift")


def test_every_picture_has_an_alt_text_and_its_bytes(page: _Texts) -> None:
    assert len(page.images) == 23  # 6 tables of 4, two of them without energy, and the drift
    for image in page.images:
        assert (image["src"] or "").startswith("data:image/svg+xml;base64,")
        assert len(image["alt"] or "") > 40


def test_results_without_a_single_good_run_still_have_a_report(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, status="failed", reason="exit status 3"), left_out(2, "no CPUs")])

    page = read(tmp_path)

    assert "exit status 3" in page.of("aside")
    assert "no CPUs" in page.of("missing-section")


def test_results_of_which_no_line_can_be_read_have_a_report(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records/node1-0001.jsonl").write_bytes(b"no record\n")

    html = write_report(str(tmp_path), None).read_text()

    assert "Which CPUs should programs run on?" in html


def test_results_of_one_run_have_a_report(tmp_path: Path) -> None:
    write(tmp_path, [without(["energy_pkg_j"], NO_ENERGY, number=1)])

    assert NO_ENERGY in read(tmp_path).of("missing-section")


def test_a_publication_has_a_report_without_runs() -> None:
    results = open_results("published:galante-2025")
    texts = read_html(report_html(results, find(results)))

    assert "Galante" in texts.of("answer")
    assert "only means are known" in texts.of("answer")
    assert "nan" not in texts.of("answer").split()
    assert "Welch" in texts.of("method")


def test_nothing_of_the_results_is_markup(tmp_path: Path) -> None:
    page = report_of(make_hostile_results(tmp_path))

    body = page.split("<body>")[1]
    assert len(re.findall(r"<script\b", body)) == 1
    assert "<img src=x" not in body
    assert "<svg" not in body
    assert page.count("</style>") == 1
    assert "{{ 7*7 }}" in body


def test_the_policy_lets_nothing_in_and_only_this_script_run(html: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["style-src"])
    assert "http://" not in html
    assert "https://" not in html


def test_ten_tables_are_a_light_file(tmp_path: Path) -> None:
    apps = tuple((f"app{n}", 5.0 + n) for n in range(5))

    path = write_report(str(make_results(tmp_path, apps=apps, threads=(1, 4))))

    assert path.read_text().count('class="results"') == 10
    assert path.stat().st_size < MAX_BYTES


def test_a_publication_needs_a_folder_for_its_report() -> None:
    with pytest.raises(UserError, match="--into"):
        write_report("published:galante-2025")


def test_a_report_of_many_tables_has_figures_of_the_first_and_says_so(
    study: Path, page: _Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out = "this report has the figures of the first"
    assert left_out not in page.of("section-2")
    monkeypatch.setattr("analysis.report.page.MAX_PICTURED", 1)
    short = read(study)
    assert left_out not in short.of("section-1")
    assert f"{left_out} 1; pinstudy figures draws all" in short.of("section-2")
    assert len(short.images) < len(page.images)
