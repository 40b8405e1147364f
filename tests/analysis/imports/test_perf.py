"""Logs of perf stat become results: single runs as records, averages as means with deviations."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.imports.identity import Identifier
from analysis.imports.perf import Imported, import_logs
from analysis.imports.summary_file import import_summaries
from analysis.results.sources import open_results
from analysis.tables.means import make_tables
from base.errors import UserError
from runners.records.line import line_of
from runners.records.reader import read_records
from runners.records.record import SCHEMA
from tests.analysis.imports.test_perf_log import LOGS
from tests.support.results import cells_by_title

Options = dict[str, str | int | None]
OPTIONS: Options = {"app": "lulesh", "threads": 1, "mapping": "pcores-pin"}


def bring(folder: Path, *names: str, **options: str | int) -> Path:
    """Import logs of the data folder into `folder/results`, which is returned."""
    into = folder / "results"
    import_logs([LOGS / name for name in names], into, OPTIONS | options)
    return into


def records(folder: Path) -> list[dict[str, Any]]:
    return list(read_records(folder / "records"))


def test_a_single_run_becomes_a_record_with_reasons_for_what_is_unknown(tmp_path: Path) -> None:
    (record,) = records(bring(tmp_path, "hybrid.txt", governor="performance"))

    assert (record["schema"], record["status"], record["study"]) == (SCHEMA, "ok", "imported")
    assert (record["app"], record["threads"], record["mapping"]) == ("lulesh", 1, "pcores-pin")
    assert (record["selection"], record["binding"]) == ("pcores", "pin")
    assert (record["governor"], record["build"], record["size"]) == (
        "performance", "unknown", "unknown",
    )  # fmt: skip
    assert "engine" not in record
    assert "block" not in record
    assert record["elapsed_s"] == 1.005
    assert (record["user_s"], record["system_s"], record["migrations"]) == (0.99, 0.01, 3)
    assert record["placement"]["verdict"] == "unproved"
    assert record["unavailable"]["placement"] == "imported; nobody looked"
    assert record["unavailable"]["energy_pkg_j"] == "not in the imported perf log"
    assert record["imported"]["file"] == "hybrid.txt"
    assert record["imported"]["line"] == 3


def test_extrapolated_counts_of_a_hybrid_node_are_undone(tmp_path: Path) -> None:
    (record,) = records(bring(tmp_path, "hybrid.txt"))

    # 5e9 x 90 % on P-cores and 3e9 x 10 % on E-cores, over one second of CPU time.
    assert record["cycles"] == 4_500_000_000 + 300_000_000
    assert record["freq_mean_ghz"] == pytest.approx(4.8)
    assert record["freq_ghz"] == pytest.approx({"P": 5.0, "E": 3.0})
    assert record["residency"] == pytest.approx({"P": 0.9, "E": 0.1})
    # E-cores refused the event, and the program was there.
    assert "cache_misses" not in record
    assert "not supported by cpu_atom" in record["unavailable"]["cache_misses"]
    # Counted on P-cores for 90 % and never on E-cores.
    assert "instructions" not in record


def test_events_of_the_one_pmu_are_of_it_with_and_without_its_name(tmp_path: Path) -> None:
    log = tmp_path / "mine.csv"
    log.write_text(
        "4000.00,msec,task-clock,4000000000,100.00,,\n"
        "12000000000,,cycles,4000000000,100.00,,\n"
        "12000000000,,cpu/cpu-cycles/,4000000000,100.00,,\n"
        "9000000000,,cpu/instructions/,4000000000,100.00,,\n"
    )

    import_logs([log], tmp_path, OPTIONS)

    (record,) = records(tmp_path)
    assert (record["cycles"], record["instructions"]) == (12_000_000_000, 9_000_000_000)
    assert record["freq_mean_ghz"] == 3.0


@pytest.mark.parametrize("clock", ["1,000,000,000 task-clock", "1,000,000,000 ns task-clock"])
def test_a_clock_that_perf_prints_in_nanoseconds_is_the_same_time(
    tmp_path: Path, clock: str
) -> None:
    log = tmp_path / "mine.txt"
    text = (LOGS / "hybrid.txt").read_text()
    log.write_text(text.replace("1,000.00 msec task-clock", clock))

    import_logs([log], tmp_path, OPTIONS)

    (record,) = records(tmp_path)
    assert record["task_clock_s"] == 1.0
    assert record["freq_ghz"] == pytest.approx({"P": 5.0, "E": 3.0})


def test_without_a_clock_counts_are_known_where_their_share_is_and_times_are_not(
    tmp_path: Path,
) -> None:
    text = (LOGS / "hybrid.txt").read_text()
    log = tmp_path / "mine.txt"
    log.write_text("\n".join(line for line in text.split("\n") if "task-clock" not in line))

    import_logs([log], tmp_path, OPTIONS)

    (record,) = records(tmp_path)
    assert record["cycles"] == 4_800_000_000
    assert record["residency"] == pytest.approx({"P": 0.9, "E": 0.1})
    for name in ("task_clock_s", "freq_mean_ghz", "freq_ghz"):
        assert name not in record
        assert record["unavailable"][name] == "no task-clock in the imported perf log"
    assert {count["enabled_ns"] for count in record["counters"]} == {None}


def test_a_full_share_in_csv_stands_for_the_clock(tmp_path: Path) -> None:
    (record,) = records(bring(tmp_path, "hybrid-pinned.csv"))

    assert (record["cycles"], record["cache_misses"]) == (5_000_000_000, 1357)
    assert (record["task_clock_s"], record["freq_mean_ghz"]) == (1.0, 5.0)
    assert record["residency"] == {"P": 1.0, "E": 0.0}


def test_csv_without_duration_time_has_no_time_and_says_what_to_ask_for(tmp_path: Path) -> None:
    (tmp_path / "counts-1.csv").write_text("5;;page-faults;100;100.00\n")
    shutil.copy(LOGS / "energy.txt", tmp_path / "joules-1.csv")
    logs = [tmp_path / "joules-1.csv", tmp_path / "counts-1.csv"]

    import_logs(logs[1:], tmp_path / "alone", OPTIONS)
    import_logs(logs, tmp_path / "both", OPTIONS | {"pattern": "{any}-{repetition}.csv"})

    (alone,), (both,) = records(tmp_path / "alone"), records(tmp_path / "both")
    assert "elapsed_s" not in alone
    assert "duration_time" in alone["unavailable"]["elapsed_s"]
    # Energy beside it has its own time, and no delay to be multiplied with.
    assert both["power_pkg_w"] == pytest.approx(2215.08 / 45.073)
    assert not {"elapsed_s", "edp_js", "ed2p_js2"} & set(both)
    assert both["unavailable"]["edp_js"] == "no elapsed time in the imported perf log"


def test_energy_of_all_cpus_is_read_and_their_counts_are_not_the_program_s(tmp_path: Path) -> None:
    (record,) = records(bring(tmp_path, "energy.txt"))

    assert (record["energy_pkg_j"], record["energy_core_j"]) == (2215.08, 1900.5)
    assert record["power_pkg_w"] == pytest.approx(2215.08 / 45.073)
    assert record["edp_js"] == pytest.approx(2215.08 * 45.073)
    assert "not supported" in record["unavailable"]["energy_psys_j"]
    assert "cycles" not in record
    assert "on all CPUs" in record["unavailable"]["cycles"]
    assert "energy_net_j" in record["unavailable"]
    (of_two,) = records(bring(tmp_path / "packages", "energy-by-package.csv"))
    assert of_two["energy_pkg_j"] == 300.75
    (data,) = records(bring(tmp_path / "told", "hybrid-pinned.csv", all_cpus=True))
    assert data["elapsed_s"] == 1.005
    assert "on all CPUs" in data["unavailable"]["cycles"]


def test_averages_are_imported_with_the_number_of_runs_that_one_tells(tmp_path: Path) -> None:
    for name in ("repeated.csv", "repeated.json"):
        (case,) = open_results(str(bring(tmp_path / name, name, repeats=4))).cases
        assert case.n == 4


PAIRS: Options = OPTIONS | {"pattern": "{any}-{repetition}.txt"}


def joules(folder: Path, repetition: int, elapsed: str, name: str = "joules") -> Path:
    """Write a log of all CPUs, of so many seconds."""
    path = folder / f"{name}-{repetition}.txt"
    path.write_text((LOGS / "energy.txt").read_text().replace("45.073000000", elapsed))
    return path


def test_a_run_s_energy_may_stand_in_a_log_of_its_own(tmp_path: Path) -> None:
    shutil.copy(LOGS / "hybrid.txt", tmp_path / "counts-7.txt")
    joules(tmp_path, 7, "1.050000000")
    logs = [tmp_path / "joules-7.txt", tmp_path / "counts-7.txt"]

    imported = import_logs(logs, tmp_path, PAIRS)

    assert imported == Imported(runs=1, averages=0, cases=1)
    (record,) = records(tmp_path)
    assert (record["repetition"], record["elapsed_s"], record["migrations"]) == (7, 1.005, 3)
    assert record["energy_pkg_j"] == 2215.08
    # Energy of its own window, delay of the program.
    assert record["power_pkg_w"] == pytest.approx(2215.08 / 1.05)
    assert record["edp_js"] == pytest.approx(2215.08 * 1.005)
    with pytest.raises(UserError, match=r"the same log as joules-7\.txt, which is imported"):
        import_logs(logs[:1], tmp_path, OPTIONS)


@pytest.mark.parametrize("elapsed", ["45.073000000", "2.100000000"])
def test_the_energy_of_another_time_is_not_a_run_s(tmp_path: Path, elapsed: str) -> None:
    shutil.copy(LOGS / "hybrid.txt", tmp_path / "counts-1.txt")
    logs = [joules(tmp_path, 1, elapsed), tmp_path / "counts-1.txt"]
    with pytest.raises(UserError, match=r"joules-1\.txt:4: lasted .* s, and .*counts-1\.txt:3,"):
        import_logs(logs, tmp_path, PAIRS)


def test_a_run_with_two_logs_of_all_cpus_or_two_runs_with_one_are_refused(tmp_path: Path) -> None:
    for name in ("counts", "more"):
        shutil.copy(LOGS / "hybrid.txt", tmp_path / f"{name}-1.txt")
    (tmp_path / "more-1.txt").write_text((LOGS / "hybrid.txt").read_text().replace("410", "411"))
    one, other = joules(tmp_path, 1, "1.05"), joules(tmp_path, 1, "1.06", "again")
    run = tmp_path / "counts-1.txt"
    with pytest.raises(UserError, match=r"again-1\.txt:4: a second log of all CPUs beside "):
        import_logs([one, other, run], tmp_path / "a", PAIRS)
    with pytest.raises(UserError, match=r"more-1\.txt:3: repetition 1 of this case is there"):
        import_logs([one, run, tmp_path / "more-1.txt"], tmp_path / "b", PAIRS)


def test_a_run_that_stands_twice_in_a_file_is_the_same_log(tmp_path: Path) -> None:
    started = "# started on Fri Nov 27 14:19:46 2026\n\n"
    log = f"{started}{(LOGS / 'german.txt').read_text()}\n"
    (tmp_path / "twice.txt").write_text(log + log)
    with pytest.raises(UserError, match=r"twice\.txt:16: the same log as .*twice\.txt"):
        import_logs([tmp_path / "twice.txt"], tmp_path / "results", OPTIONS)


def test_an_event_that_was_asked_for_twice_is_one_energy_and_two_packages_are_two(
    tmp_path: Path,
) -> None:
    row = "   100.00 Joules power/energy-pkg/\n"
    for name, rows in (("twice", 2 * row), ("sockets", f"S0  1{row}S1  1{row}")):
        (tmp_path / f"{name}.txt").write_text(
            f" Performance counter stats for 'system wide':\n\n{rows}\n"
            "   45.073000000 seconds time elapsed\n"
        )
        into = tmp_path / f"of-{name}"
        import_logs([tmp_path / f"{name}.txt"], into, OPTIONS)
    energies = [
        records(tmp_path / f"of-{name}")[0]["energy_pkg_j"] for name in ("twice", "sockets")
    ]
    assert energies == [100.0, 200.0]


def test_averages_may_have_their_energy_in_a_log_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "joules.txt"
    log.write_text(
        " Performance counter stats for 'system wide' (5 runs):\n\n"
        "   2,215.08 Joules power/energy-pkg/       ( +-  0.10% )\n\n"
        "   0.0930 +- 0.0082 seconds time elapsed  ( +-  0.02% )\n"
    )
    imported = import_logs([log, LOGS / "repeated.txt"], tmp_path / "out", OPTIONS)

    assert imported == Imported(runs=0, averages=1, cases=1)
    (case,) = open_results(str(tmp_path / "out")).cases
    assert (case.n, case.time.mean, case.stats["energy_pkg_j"].mean) == (5, 0.052881, 2215.08)
    assert case.stats["energy_pkg_j"].sd == pytest.approx(2.21508 * math.sqrt(5), rel=0.005)
    with pytest.raises(
        UserError, match=r"joules\.txt:1: averages of 5 runs, and .*old\.txt:2 of 4"
    ):
        import_logs([log, LOGS / "old.txt"], tmp_path / "more", OPTIONS)


def test_averages_without_time_or_energy_say_why(tmp_path: Path) -> None:
    log = tmp_path / "mine.csv"
    log.write_text(
        "100;;page-faults;1.00%;3552123;100.00;;\n0.00;Joules;power/energy-pkg/;1;100.00"
    )

    import_logs([log], tmp_path, OPTIONS | {"repeats": 4})

    (case,) = open_results(str(tmp_path)).cases
    assert "ask for the event duration_time" in case.circumstances.reasons["elapsed_s"][0]
    assert "energy counter did not move" in case.circumstances.reasons["energy_pkg_j"][0]


def test_a_killed_program_s_run_failed_and_is_not_averaged(tmp_path: Path) -> None:
    into = bring(tmp_path, "killed.txt", "three-runs.txt")

    results = open_results(str(into))
    assert [case.n for case in results.cases] == [3]
    assert results.cases[0].circumstances.excluded == {"failed": 1}
    assert results.cases[0].time.mean == pytest.approx(
        (0.022193446 + 0.021591851 + 0.020765021) / 3
    )


def test_averages_with_a_killed_run_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "mine.txt"
    text = (LOGS / "repeated.txt").read_text()
    program = text.split("stats for '")[1].split("'")[0].split()[0]
    log.write_text(f"{program}: Segmentation fault\n{text}")

    with pytest.raises(UserError, match=r"of which one failed \(.*: Segmentation fault\)"):
        import_logs([log], tmp_path / "results", OPTIONS)
    assert not (tmp_path / "results").exists()


def test_the_deviation_of_averages_is_that_of_the_runs(tmp_path: Path) -> None:
    # The log has the single times 0.023866, 0.022749 and 0.023240 beside 0.023285 +- 0.000323.
    single = (0.023866, 0.022749, 0.023240)
    mean = sum(single) / 3
    sd = math.sqrt(sum((time - mean) ** 2 for time in single) / 2)

    case = open_results(str(bring(tmp_path, "repeated-table.txt"))).cases[0]

    assert case.n == 3
    assert case.time.mean == pytest.approx(mean, abs=1e-6)
    assert case.time.sd == pytest.approx(sd, rel=0.005)
    assert sd / math.sqrt(3) == pytest.approx(0.000323, abs=1e-6)


def test_averages_keep_their_digits_and_are_no_runs(tmp_path: Path) -> None:
    into = bring(tmp_path, "repeated.txt")

    assert not (into / "records").exists()
    (table,) = make_tables(into)
    cells = cells_by_title(table)
    assert (cells["n"], cells["time mean (s)"]) == ("5", "0.052881")
    # 0.000514 x sqrt(5)
    assert cells["sd (s)"] == "0.00115"
    assert cells["migrations"] == "0"
    assert cells["frequency (GHz)"].startswith("n/a")


def test_counts_of_averages_have_deviations_where_they_are_known_finely(tmp_path: Path) -> None:
    case = open_results(str(bring(tmp_path, "french-repeated.txt"))).cases[0]

    assert case.time.sd == pytest.approx(0.00822 * math.sqrt(10), rel=0.005)
    assert case.stats["cache_misses"].mean == 1376989875
    assert case.stats["cache_misses"].sd == pytest.approx(
        1376989875 * 0.02 * math.sqrt(10), rel=0.005
    )
    few = open_results(str(bring(tmp_path / "few", "repeated.txt"))).cases[0]
    assert math.isnan(few.stats["context_switches"].sd)


def test_the_clock_of_averages_may_be_in_nanoseconds(tmp_path: Path) -> None:
    text = (LOGS / "repeated.txt").read_text()
    (tmp_path / "ns.txt").write_text(text.replace("1.08 msec task-clock", "1,080,000 task-clock"))

    for file, folder in ((LOGS / "repeated.txt", "ms"), (tmp_path / "ns.txt", "ns")):
        import_logs([file], tmp_path / folder, OPTIONS)

    of_ms, of_ns = (
        open_results(str(tmp_path / folder)).cases[0].stats["task_clock_s"]
        for folder in ("ms", "ns")
    )
    # 4.99 % of 1.08 ms, the error of the mean, times the root of 5 runs.
    assert of_ms.mean == 0.00108
    assert of_ms.sd == pytest.approx(1.205e-4, rel=0.005)
    assert (of_ns.mean, of_ns.sd) == (of_ms.mean, of_ms.sd)


def test_averages_are_added_to_the_table_of_means_that_do_not_tell_the_build(
    tmp_path: Path,
) -> None:
    means = tmp_path / "means.csv"
    means.write_text(
        "app,threads,mapping,table_number,case_number,elapsed_mean_s\nlulesh,1,unpinned,1,1,4.5\n"
    )
    import_summaries(means, tmp_path / "results")

    (table,) = make_tables(bring(tmp_path, "repeated.txt"))

    assert [row[:2] for row in table.cells] == [("1", "unpinned"), ("2", "pcores-pin")]
    with pytest.raises(UserError, match=r"a second average of the same case"):
        bring(tmp_path, "old.txt", mapping="unpinned")


@pytest.mark.parametrize(
    ("there", "names", "options", "expected"),
    [
        ("", ["repeated.csv"], {}, r"repeated.csv:3: averages .* give --repeats N"),
        ("", ["repeated.json"], {}, r"repeated.json:3: averages .* give --repeats N"),
        ("", ["repeated.txt"], {"repeats": 4}, r"averages of 5 runs, and --repeats says 4"),
        ("", ["german.txt"], {"repeats": 4}, r"a single run, and --repeats says .* 4"),
        ("", ["repeated.txt", "german.txt"], {}, r"txt:4: averages .*german\.txt:1 is a single"),
        ("", ["german.txt", "/none.txt"], {}, r"none\.txt:1:1"),
        ("repeated.txt", ["german.txt"], {}, r"holds means"),
        ("german.txt", ["repeated.txt"], {}, r"holds runs"),
        ("german.txt", ["german.txt"], {}, r"the same log as german\.txt, which is imported"),
        ("repeated.txt", ["old.txt"], {}, r"old\.txt:2: a second average of the same case"),
        ("german.txt", ["hybrid.txt"], {"node": "n2"}, r"holds runs of node 'imported'; import"),
        ("", ["german.txt"], {"node": "../up"}, "is no name of a node"),
        ("", ["german.txt"], {"node": "a b"}, "is no name of a node"),
        ("", ["german.txt"], {"node": "x" * 65}, "is no name of a node"),
        ("", ["german.txt"], {"app": None}, "give --app, or {app} in --pattern"),
        ("", ["german.txt"], {"threads": None}, "give --threads, or {threads} in --pattern"),
        ("", ["german.txt"], {"mapping": None}, "give --mapping, or {mapping} in --pattern"),
        ("", ["german.txt"], {"threads": 10**20 - 1}, "--threads '9+' is not from 1 to 1000000"),
    ],
)
def test_what_cannot_be_imported_is_refused_and_nothing_is_written(
    tmp_path: Path, there: str, names: list[str], options: Options, expected: str
) -> None:
    (tmp_path / "none.txt").write_text("no log\n")
    into = tmp_path / "results"
    if there:
        bring(tmp_path, there)
    before = sorted(into.rglob("*"))
    logs = [tmp_path / name[1:] if name.startswith("/") else LOGS / name for name in names]

    with pytest.raises(UserError, match=expected):
        import_logs(logs, into, OPTIONS | options)

    assert sorted(into.rglob("*")) == before


@pytest.mark.parametrize(
    "record",
    [{"case_id": "x"}, {"case_id": "x", "imported": {}, "app": []}],
)
def test_results_of_pinstudy_are_not_added_to(tmp_path: Path, record: dict[str, Any]) -> None:
    (tmp_path / "results" / "records").mkdir(parents=True)
    path = tmp_path / "results" / "records" / "node1-0001.jsonl"
    path.write_bytes(line_of(record))
    with pytest.raises(UserError, match=r"holds runs that pinstudy made"):
        bring(tmp_path, "german.txt")


def test_file_names_tell_the_case_and_rows_are_numbered_as_published(tmp_path: Path) -> None:
    names: list[str] = []
    for governor in ("powersave", "performance"):
        for mapping in ("ecores-pin", "pcores-pin", "unpinned", "my cpus"):
            for repetition in (1, 2):
                name = f"lulesh_8_{mapping}_{governor}_{repetition}.txt"
                text = (LOGS / "german.txt").read_text().replace("1,24", f"1,{len(names) + 10}")
                (tmp_path / name).write_text(text)
                names.append(name)
    pattern = "{app}_{threads}_{mapping}_{governor}_{repetition}.txt"

    import_logs([tmp_path / name for name in names], tmp_path / "out", {"pattern": pattern})

    (table,) = make_tables(tmp_path / "out")
    rows = [(row[0], row[1], row[2].split()[0], row[3]) for row in table.cells]
    assert rows == [
        ("1", "unpinned", "performance", "2"),
        ("2", "pcores-pin", "performance", "2"),
        ("3", "ecores-pin", "performance", "2"),
        ("4", "my cpus", "performance", "2"),
        ("5", "unpinned", "powersave", "2"),
        ("6", "pcores-pin", "powersave", "2"),
        ("7", "ecores-pin", "powersave", "2"),
        ("8", "my cpus", "powersave", "2"),
    ]
    cases = open_results(str(tmp_path / "out")).cases
    assert [case.key.binding for case in cases[:4]] == ["none", "pin", "pin", None]


def test_what_is_added_later_leaves_numbers_as_they_are(tmp_path: Path) -> None:
    bring(tmp_path, "german.txt", mapping="ecores-pin")
    into = bring(tmp_path, "hybrid.txt", mapping="unpinned")
    bring(tmp_path, "energy.txt", mapping="ecores-pin")

    numbers = [(r["case_number"], r["mapping"], r["repetition"]) for r in records(into)]
    assert numbers == [(1, "ecores-pin", 1), (2, "unpinned", 1), (1, "ecores-pin", 2)]


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("lulesh.txt", "", "has no placeholders"),
        ("{app", "", "has no placeholders"),
        ("{app}}.txt", "", "braces without one"),
        ("{ap}.txt", "", "placeholder 'ap' is not known; did you mean 'app'?"),
        ("{app}_{app}.txt", "", "{app} is there twice"),
        ("{app}{size}.txt", "", "nothing stands before {size}"),
        ("{wait_policy}.t", "", "--wait-policy and {wait_policy} in --pattern both"),
        ("{app}_{threads}.txt", "lulesh.txt", "lulesh.txt"),
        ("{app}_{threads}.txt", "lulesh_x.txt", "lulesh_x.txt"),
        ("{app}_{threads}.txt", "lu_lesh_2.txt", "lu_lesh_2.txt"),
        ("{app}_{threads}.txt", "_2.txt", "_2.txt"),
        ("{app}_{threads}.txt", "lulesh_0.txt", "lulesh_0.txt"),
        ("{app}_{threads}.txt", " _2.txt", "_2.txt: app ' ' is no name"),
    ],
)
def test_a_pattern_or_a_name_that_is_none_is_explained(
    pattern: str, name: str, expected: str
) -> None:
    extra: Options = {"mapping": "m", "pattern": pattern}
    if "threads" not in pattern:
        extra |= {"threads": 1, "wait_policy": "x"}
    with pytest.raises(UserError, match=re.escape(expected)):
        Identifier(extra).identify(Path("logs") / name)


def test_folders_may_be_part_of_a_pattern() -> None:
    identifier = Identifier({"threads": 2, "pattern": "{mapping}/{app}.txt"})
    found = identifier.identify(Path("a/pcores-pin/lulesh.txt")).fields
    assert (found["mapping"], found["app"]) == ("pcores-pin", "lulesh")


def test_blanks_around_a_name_make_no_other_table(tmp_path: Path) -> None:
    bring(tmp_path, "repeated.txt", app=" lulesh ")
    into = bring(tmp_path, "old.txt", app="lulesh ", mapping="unpinned")
    (table,) = make_tables(into)
    assert len(table.cells) == 2


@given(st.text(max_size=12), st.text(max_size=12).map(lambda text: f"{{app}}{text}"))
def test_whatever_a_pattern_and_a_name_are_there_is_no_traceback(name: str, pattern: str) -> None:
    try:
        found = Identifier({"threads": 1, "mapping": "m", "pattern": pattern}).identify(
            Path("x") / name
        )
    except UserError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert str(found.fields["app"]).isprintable()


WORDS = st.one_of(st.sampled_from(["pcores-pin", "4", "x y", ""]), st.text(max_size=6))


@given(st.dictionaries(st.sampled_from(["app", "mapping", "governor", "size", "node"]), WORDS))
def test_any_options_give_tables_or_an_error_of_one_line(extra: dict[str, str]) -> None:
    options: Options = {**OPTIONS, **extra}
    with TemporaryDirectory() as name:
        try:
            import_logs([LOGS / "hybrid.txt", LOGS / "german.txt"], Path(name), options)
        except UserError as error:
            assert len(str(error).splitlines()) == 1
        else:
            assert make_tables(name)


SHARES_ABOVE_THE_CLOCK = """
 Performance counter stats for './solve 4':

     7.309.174.663      cpu_atom/cycles/                 #    1,966 GHz                         (62,54%)
     5.549.137.767      cpu_core/cycles/                 #    1,492 GHz                         (89,52%)
          3.718,04 msec task-clock                       #    6,383 CPUs utilized

       0,582454786 seconds time elapsed
"""  # noqa: E501 - as perf prints it


def test_shares_of_pmus_that_cannot_be_give_reasons_and_no_counts(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(SHARES_ABOVE_THE_CLOCK)

    import_logs([tmp_path / "log.txt"], tmp_path, OPTIONS | {"threads": 4})

    (record,) = records(tmp_path)
    assert (record["elapsed_s"], record["task_clock_s"]) == (0.582454786, 3.71804)
    for name in ("residency", "cycles", "freq_mean_ghz", "freq_ghz"):
        assert name not in record
        assert "counting for 152% of the program's time" in record["unavailable"][name]


def all_cpus(cpus: int, ending: str) -> str:
    """Return a log of two seconds of so many CPUs under -a, of which nothing in it tells."""
    ns = 2_000_000_000 * cpus
    if ending == "csv":
        return (
            f"{ns / 1e6:.2f},msec,task-clock,{ns},100.00,{cpus}.000,CPUs utilized\n"
            f"812,,cpu-migrations,{ns},100.00,,\n5000000000,,cycles,{ns},100.00,,\n"
            "2000900000,ns,duration_time,2000900000,100.00,,\n"
        )
    # perf before 3.10 names the command.
    return (
        " Performance counter stats for './solve 4':\n\n"
        f"  {ns / 1e6:.6f} task-clock\n  812 CPU-migrations\n  5000000000 cycles\n\n"
        "  2.000900000 seconds time elapsed\n"
    )


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_counts_of_all_cpus_are_noticed_where_the_log_does_not_tell(
    tmp_path: Path, ending: str
) -> None:
    log = tmp_path / f"log.{ending}"
    for cpus, told in ((8, True), (4, False)):
        log.write_text(all_cpus(cpus, ending))
        into = tmp_path / f"of-{cpus}"
        import_logs([log], into, OPTIONS | {"threads": 4})

        (record,) = records(into)
        assert ("cycles" in record, "migrations" in record) == (not told, not told)
        if told:
            assert record["unavailable"]["migrations"].startswith(
                "8 CPUs were busy all the time, which --threads 4 cannot do: counted on all CPUs "
                "(-a; then say --all-cpus)"
            )


def test_counters_outside_the_cores_count_on_all_cpus(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "100.00,msec,task-clock,100000000,100.00,,\n7,,uncore_imc_0/reads/,100000000,100.00,,\n"
    )
    import_logs([log], tmp_path / "counted", OPTIONS)
    log.write_text(log.read_text().replace("7,,", "<not supported>,,"))
    import_logs([log], tmp_path / "refused", OPTIONS)

    (counted,), (refused,) = records(tmp_path / "counted"), records(tmp_path / "refused")
    assert "on all CPUs" in counted["unavailable"]["task_clock_s"]
    assert refused["task_clock_s"] == 0.1


def test_without_a_clock_no_count_is_too_high_for_one(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        " Performance counter stats for './x':\n\n  90,000,000,000 cycles\n\n"
        "  20.0 seconds time elapsed\n"
    )
    import_logs([log], tmp_path, OPTIONS)
    assert records(tmp_path)[0]["cycles"] == 90_000_000_000


def test_what_an_old_perf_scaled_is_no_complete_count(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        " Performance counter stats for './solve':\n\n"
        "  55565.778954 task-clock  #  0.999 CPUs utilized\n"
        "  4341 CPU-migrations  #  0.000 M/sec\n"
        "  149053980907 cycles  #  2.682 GHz\n"
        "  150000000000 instructions  #  1.0 IPC  (scaled from 66.67%)\n\n"
        "  55.644597914  seconds time elapsed\n"
    )
    import_logs([log], tmp_path, OPTIONS)

    (record,) = records(tmp_path)
    assert (record["task_clock_s"], record["migrations"]) == (55.565778954, 4341)
    assert record["freq_mean_ghz"] == pytest.approx(149053980907 / 55565778954)
    assert "counted for 67% of the time only" in record["unavailable"]["instructions"]


PER_CORE = {
    "txt": " Performance counter stats for 'system wide':\n\n"
    "S0-D0-C0   1              3.73 Joules power/energy-pkg/\n"
    "S0-D0-C1   0     <not counted> Joules power/energy-pkg/\n"
    "S1-D0-C0   1              1.27 Joules power/energy-pkg/\n\n"
    "  1.001404046 seconds time elapsed\n",
    "csv": "S0-D0-C1,0,<not counted>,Joules,power/energy-pkg/,0,100.00,,\n"
    "S0-D0-C0,1,3.73,Joules,power/energy-pkg/,1001404046,100.00,,\n"
    "S1-D0-C0,1,1.27,Joules,power/energy-pkg/,1001404046,100.00,,\n"
    "S0-D0-C1,0,<not counted>,ns,duration_time,0,100.00,,\n"
    "S0-D0-C0,1,1001404046,ns,duration_time,1001404046,100.00,,\n",
    "json": "\n".join(
        f'{{"core" : "{core}", "aggregate-number" : {summed}, "counter-value" : "{value}", '
        f'"unit" : "{unit}", "event" : "{event}", "event-runtime" : 9, "pcnt-running" : 100.00}}'
        for core, summed, value, unit, event in (
            ("S0-D0-C0", 1, "3.730000", "Joules", "power/energy-pkg/"),
            ("S0-D0-C1", 0, "<not counted>", "Joules", "power/energy-pkg/"),
            ("S1-D0-C0", 1, "1.270000", "Joules", "power/energy-pkg/"),
            ("S0-D0-C0", 1, "1001404046.000000", "ns", "duration_time"),
        )
    ),
}


@pytest.mark.parametrize("form", PER_CORE)
def test_cores_without_a_counter_of_their_package_say_nothing(tmp_path: Path, form: str) -> None:
    log = tmp_path / f"log.{form}"
    for ending, text in (
        ("", PER_CORE[form]),
        ("-newer", PER_CORE[form].replace("aggregate-number", "counters")),
    ):
        log.write_text(text)
        import_logs([log], tmp_path / f"of{ending}", OPTIONS)
        (record,) = records(tmp_path / f"of{ending}")
        assert (record["energy_pkg_j"], record["elapsed_s"]) == (5.0, 1.001404046)


def test_a_package_whose_counter_was_not_read_leaves_no_sum(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    for at, rows in enumerate((
        "S0  1  3.73 Joules power/energy-pkg/\nS1  1  <not counted> Joules power/energy-pkg/\n",
        "S0  0  <not counted> Joules power/energy-pkg/\n",
    )):  # fmt: skip
        log.write_text(
            f" Performance counter stats for 'system wide':\n\n{rows}\n 1.0 seconds time elapsed\n"
        )
        import_logs([log], tmp_path / f"of-{at}", OPTIONS)
        (record,) = records(tmp_path / f"of-{at}")
        assert record["unavailable"]["energy_pkg_j"] == "power/energy-pkg/: not counted"


def test_under_no_aggregation_only_cpus_with_a_counter_have_energy(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        " Performance counter stats for 'system wide':\n\nCPU0  3.73 Joules power/energy-pkg/\n"
        "CPU1  <not counted> Joules power/energy-pkg/\n\n  1.0 seconds time elapsed\n"
    )
    import_logs([log], tmp_path, OPTIONS)
    assert records(tmp_path)[0]["energy_pkg_j"] == 3.73
