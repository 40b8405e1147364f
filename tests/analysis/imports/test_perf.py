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

from pinstudy.analysis.imports.identity import Identifier
from pinstudy.analysis.imports.perf import import_logs
from pinstudy.analysis.imports.runs import Imported
from pinstudy.analysis.imports.summary_file import import_summaries
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.tables.means import make_tables
from pinstudy.base.errors import UserError
from pinstudy.runners.records.line import line_of
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.record import SCHEMA
from tests.analysis.imports.test_perf_log import LOGS
from tests.support.results import cells_by_title

Options = dict[str, str | int | None]
OPTIONS: Options = {"app": "lulesh", "threads": 1, "mapping": "pcores-pin"}
HYBRID = (LOGS / "hybrid.txt").read_text()
HEAD = " Performance counter stats for './solve':\n\n"
SYSTEM_WIDE = " Performance counter stats for 'system wide':\n\n"


def bring(folder: Path, *names: str, **options: str | int) -> Path:
    """Import logs of the data folder into `folder/results`, which is returned."""
    into = folder / "results"
    import_logs([LOGS / name for name in names], into, OPTIONS | options)
    return into


def records(folder: Path) -> list[dict[str, Any]]:
    return list(read_records(folder / "records"))


def record_of(folder: Path, text: str, **options: str | int) -> dict[str, Any]:
    """Return the one record that a log becomes."""
    into = folder / f"of-{len(list(folder.iterdir()))}"
    log = folder / "mine.log"
    log.write_text(text)
    import_logs([log], into, OPTIONS | options)
    (record,) = records(into)
    return record


def only_case(folder: Path) -> Case:
    (case,) = open_results(str(folder)).cases
    return case


def test_a_single_run_becomes_a_record_with_reasons_for_what_is_unknown(tmp_path: Path) -> None:
    (record,) = records(bring(tmp_path, "hybrid.txt", governor="performance"))

    expected = {
        **{"schema": SCHEMA, "status": "ok", "study": "imported", "app": "lulesh", "threads": 1},
        **{"mapping": "pcores-pin", "selection": "pcores", "binding": "pin"},
        **{"governor": "performance", "build": "unknown", "size": "unknown"},
        **{"elapsed_s": 1.005, "user_s": 0.99, "system_s": 0.01, "migrations": 3},
    }
    assert expected.items() <= record.items()
    assert not {"engine", "block"} & set(record)
    assert record["placement"]["verdict"] == "unproved"
    assert record["unavailable"]["placement"] == "imported; nobody looked"
    assert record["unavailable"]["energy_pkg_j"] == "not in the imported perf log"
    assert (record["imported"]["file"], record["imported"]["line"]) == ("hybrid.txt", 3)


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


# Of an old perf, which scaled one count and not the clock.
SCALED = f"""{HEAD}  55565.778954 task-clock  #  0.999 CPUs utilized
  4341 CPU-migrations  #  0.000 M/sec
  149053980907 cycles  #  2.682 GHz
  150000000000 instructions  #  1.0 IPC  (scaled from 66.67%)

  55.644597914  seconds time elapsed
"""
SHARES_ABOVE_THE_CLOCK = f"""{HEAD}
     7.309.174.663      cpu_atom/cycles/                 #    1,966 GHz      (62,54%)
     5.549.137.767      cpu_core/cycles/                 #    1,492 GHz      (89,52%)
          3.718,04 msec task-clock                       #    6,383 CPUs utilized

       0,582454786 seconds time elapsed
"""
NO_CLOCK = "no task-clock in the imported perf log"
TOO_LONG = "counting for 152% of the program's time"


def wide(*rows: str) -> str:
    """Return a log of a second of all CPUs."""
    return SYSTEM_WIDE + "\n".join(rows) + "\n\n  1.0 seconds time elapsed\n"


ENERGY = "Joules power/energy-pkg/"
NOT_COUNTED = {"energy_pkg_j": "power/energy-pkg/: not counted"}
CLOCK = "100.00,msec,task-clock,100000000,100.00,,\n"
# By what is odd about a log: the log, fields of its record, reasons for what the record lacks.
ODD: dict[str, tuple[str, dict[str, float], dict[str, str]]] = {
    # Events of the one PMU are of it with and without its name.
    "one PMU": (
        "4000.00,msec,task-clock,4000000000,100.00,,\n12000000000,,cycles,4000000000,100.00,,\n"
        "12000000000,,cpu/cpu-cycles/,4000000000,100.00,,\n"
        "9000000000,,cpu/instructions/,4000000000,100.00,,\n",
        {"cycles": 12_000_000_000, "instructions": 9_000_000_000, "freq_mean_ghz": 3.0}, {}),
    "no clock": (
        "\n".join(line for line in HYBRID.split("\n") if "task-clock" not in line),
        {"cycles": 4_800_000_000},
        dict.fromkeys(("task_clock_s", "freq_mean_ghz", "freq_ghz"), NO_CLOCK)),
    "no clock, and no count is too high for one": (
        f"{HEAD}  90,000,000,000 cycles\n\n  20.0 seconds time elapsed\n",
        {"cycles": 90_000_000_000}, {}),
    "a full share in CSV stands for the clock": (
        (LOGS / "hybrid-pinned.csv").read_text(),
        {"cycles": 5e9, "cache_misses": 1357, "task_clock_s": 1.0, "freq_mean_ghz": 5.0}, {}),
    "no time": ("5;;page-faults;100;100.00\n", {}, {"elapsed_s": "duration_time"}),
    "shares of PMUs that cannot be": (
        SHARES_ABOVE_THE_CLOCK, {"elapsed_s": 0.582454786, "task_clock_s": 3.71804},
        dict.fromkeys(("residency", "cycles", "freq_mean_ghz", "freq_ghz"), TOO_LONG)),
    "scaled": (
        SCALED, {"task_clock_s": 55.565778954, "migrations": 4341, "freq_mean_ghz": 2.68248},
        {"instructions": "counted for 67% of the time only"}),
    "uncore": (f"{CLOCK}7,,uncore_imc_0/reads/,9,100.00,,\n", {}, {"task_clock_s": "on all CPUs"}),
    "uncore refused": (
        f"{CLOCK}<not supported>,,uncore_imc_0/reads/,9,100.00,,\n", {"task_clock_s": 0.1}, {}),
    "asked for twice": (wide(f"100.00 {ENERGY}", f"100.00 {ENERGY}"), {"energy_pkg_j": 100.0}, {}),
    "packages": (wide(f"S0  1  60.00 {ENERGY}", f"S1  1  40.00 {ENERGY}"),
                 {"energy_pkg_j": 100.0}, {}),
    "by package": ((LOGS / "energy-by-package.csv").read_text(), {"energy_pkg_j": 300.75}, {}),
    "a package not read": (
        wide(f"S0  1  3.73 {ENERGY}", f"S1  1  <not counted> {ENERGY}"), {}, NOT_COUNTED),
    "no package read": (wide(f"S0  0  <not counted> {ENERGY}"), {}, NOT_COUNTED),
    # Without aggregation only CPUs with a counter have energy.
    "no aggregation": (
        wide(f"CPU0  3.73 {ENERGY}", f"CPU1  <not counted> {ENERGY}"), {"energy_pkg_j": 3.73}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "lacking"), ODD.values(), ids=ODD)
def test_a_log_gives_what_it_can_and_a_reason_for_what_it_cannot(
    tmp_path: Path, text: str, expected: dict[str, float], lacking: dict[str, str]
) -> None:
    record = record_of(tmp_path, text)
    assert {name: record[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    for name, reason in lacking.items():
        assert name not in record
        assert reason in record["unavailable"][name]


@pytest.mark.parametrize("clock", ["1,000,000,000 task-clock", "1,000,000,000 ns task-clock"])
def test_a_clock_in_nanoseconds_is_the_same_time(tmp_path: Path, clock: str) -> None:
    record = record_of(tmp_path, HYBRID.replace("1,000.00 msec task-clock", clock))
    assert record["task_clock_s"] == 1.0
    assert record["freq_ghz"] == pytest.approx({"P": 5.0, "E": 3.0})
    repeated = (LOGS / "repeated.txt").read_text()
    (tmp_path / "ns.txt").write_text(repeated.replace("1.08 msec", "1,080,000"))
    import_logs([tmp_path / "ns.txt"], tmp_path / "averages", OPTIONS)
    stats = only_case(tmp_path / "averages").stats["task_clock_s"]
    # 4.99 % of 1.08 ms, the error of the mean, times the root of 5 runs.
    assert stats.mean == 0.00108
    assert stats.sd == pytest.approx(1.205e-4, rel=0.005)


def test_energy_of_all_cpus_is_read_and_their_counts_are_not_the_program_s(tmp_path: Path) -> None:
    (record,) = records(bring(tmp_path, "energy.txt"))

    assert (record["energy_pkg_j"], record["energy_core_j"]) == (2215.08, 1900.5)
    assert record["power_pkg_w"] == pytest.approx(2215.08 / 45.073)
    assert record["edp_js"] == pytest.approx(2215.08 * 45.073)
    assert "not supported" in record["unavailable"]["energy_psys_j"]
    assert "cycles" not in record
    assert "on all CPUs" in record["unavailable"]["cycles"]
    assert "energy_net_j" in record["unavailable"]
    (told,) = records(bring(tmp_path / "told", "hybrid-pinned.csv", all_cpus=True))
    assert told["elapsed_s"] == 1.005
    assert "on all CPUs" in told["unavailable"]["cycles"]


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
        f"{HEAD}  {ns / 1e6:.6f} task-clock\n  812 CPU-migrations\n  5000000000 cycles\n\n"
        "  2.000900000 seconds time elapsed\n"
    )


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_counts_of_all_cpus_are_noticed_where_the_log_does_not_tell(
    tmp_path: Path, ending: str
) -> None:
    own, everyones = (record_of(tmp_path, all_cpus(n, ending), threads=4) for n in (4, 8))
    assert {"cycles", "migrations"} <= set(own)
    assert not {"cycles", "migrations"} & set(everyones)
    assert everyones["unavailable"]["migrations"].startswith(
        "8 CPUs were busy all the time, which --threads 4 cannot do: counted on all CPUs "
        "(-a; then say --all-cpus)"
    )


PER_CORE = {
    "txt": SYSTEM_WIDE + "S0-D0-C0   1              3.73 Joules power/energy-pkg/\n"
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
    newer = PER_CORE[form].replace("aggregate-number", "counters")
    for text in (PER_CORE[form], newer):
        record = record_of(tmp_path, text)
        assert (record["energy_pkg_j"], record["elapsed_s"]) == (5.0, 1.001404046)


PAIRS: Options = OPTIONS | {"pattern": "{any}-{repetition}.txt"}


def joules(folder: Path, elapsed: str, name: str = "joules") -> Path:
    """Write a log of all CPUs in the first repetition, of so many seconds."""
    path = folder / f"{name}-1.txt"
    path.write_text((LOGS / "energy.txt").read_text().replace("45.073000000", elapsed))
    return path


def counts(folder: Path, name: str = "counts", old: str = "", new: str = "") -> Path:
    """Write a log of the program in the first repetition."""
    path = folder / f"{name}-1.txt"
    path.write_text(HYBRID.replace(old, new))
    return path


def test_a_run_s_energy_may_stand_in_a_log_of_its_own(tmp_path: Path) -> None:
    logs = [joules(tmp_path, "1.050000000"), counts(tmp_path)]

    assert import_logs(logs, tmp_path, PAIRS) == Imported(runs=1, averages=0, cases=1)

    (record,) = records(tmp_path)
    assert (record["repetition"], record["elapsed_s"], record["migrations"]) == (1, 1.005, 3)
    assert record["energy_pkg_j"] == 2215.08
    # Energy of its own window, delay of the program.
    assert record["power_pkg_w"] == pytest.approx(2215.08 / 1.05)
    assert record["edp_js"] == pytest.approx(2215.08 * 1.005)
    with pytest.raises(UserError, match=r"the same log as joules-1\.txt, which is imported"):
        import_logs(logs[:1], tmp_path, OPTIONS)
    # Beside counts without a time there is no delay to be multiplied with.
    (tmp_path / "counts-1.csv").write_text("5;;page-faults;100;100.00\n")
    shutil.copy(logs[0], tmp_path / "joules-1.csv")
    beside = [tmp_path / "joules-1.csv", tmp_path / "counts-1.csv"]
    import_logs(beside, tmp_path / "both", OPTIONS | {"pattern": "{any}-{repetition}.csv"})
    (both,) = records(tmp_path / "both")
    assert both["power_pkg_w"] == pytest.approx(2215.08 / 1.05)
    assert not {"elapsed_s", "edp_js", "ed2p_js2"} & set(both)
    assert both["unavailable"]["edp_js"] == "no elapsed time in the imported perf log"


def test_logs_that_are_no_pair_are_refused(tmp_path: Path) -> None:
    energy, again = joules(tmp_path, "1.05"), joules(tmp_path, "1.06", "again")
    late, run = joules(tmp_path, "2.10", "late"), counts(tmp_path)
    other = counts(tmp_path, "more", "410", "411")
    twice = counts(tmp_path, "a", HYBRID, f"# started on Fri Nov 27\n\n{HYBRID}\n" * 2)
    for logs, problem in (
        ([late, run], r"late-1\.txt:4: lasted .* s, and .*counts-1\.txt:3,"),
        ([energy, again, run], r"again-1\.txt:4: a second log of all CPUs beside "),
        ([energy, run, other], r"more-1\.txt:3: repetition 1 of this case is there"),
        ([twice], r"a-1\.txt:\d+: the same log as .*a-1\.txt"),
    ):
        with pytest.raises(UserError, match=problem):
            import_logs(logs, tmp_path / "out", PAIRS)


def test_averages_may_have_their_energy_in_a_log_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "joules.txt"
    log.write_text(
        " Performance counter stats for 'system wide' (5 runs):\n\n"
        "   2,215.08 Joules power/energy-pkg/       ( +-  0.10% )\n\n"
        "   0.0930 +- 0.0082 seconds time elapsed  ( +-  0.02% )\n"
    )
    imported = import_logs([log, LOGS / "repeated.txt"], tmp_path / "out", OPTIONS)

    assert imported == Imported(runs=0, averages=1, cases=1)
    case = only_case(tmp_path / "out")
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
    case = only_case(tmp_path)
    assert case.n == 4
    assert "ask for the event duration_time" in case.circumstances.reasons["elapsed_s"][0]
    assert "energy counter did not move" in case.circumstances.reasons["energy_pkg_j"][0]


def test_a_killed_program_s_run_failed_and_is_not_averaged(tmp_path: Path) -> None:
    case = only_case(bring(tmp_path, "killed.txt", "three-runs.txt"))
    assert (case.n, case.circumstances.excluded) == (3, {"failed": 1})
    assert case.time.mean == pytest.approx((0.022193446 + 0.021591851 + 0.020765021) / 3)
    text = (LOGS / "repeated.txt").read_text()
    program = text.split("stats for '")[1].split("'")[0].split()[0]
    log = tmp_path / "mine.txt"
    log.write_text(f"{program}: Segmentation fault\n{text}")
    with pytest.raises(UserError, match=r"of which one failed \(.*: Segmentation fault\)"):
        import_logs([log], tmp_path / "none", OPTIONS)
    assert not (tmp_path / "none").exists()


def test_averages_have_deviations_of_the_runs_where_they_are_known_finely(tmp_path: Path) -> None:
    # The log has the single times 0.023866, 0.022749 and 0.023240 beside 0.023285 +- 0.000323.
    single = (0.023866, 0.022749, 0.023240)
    mean = sum(single) / 3
    sd = math.sqrt(sum((time - mean) ** 2 for time in single) / 2)

    three, ten, five = (
        only_case(bring(tmp_path / name, name))
        for name in ("repeated-table.txt", "french-repeated.txt", "repeated.txt")
    )

    assert three.n == 3
    assert three.time.mean == pytest.approx(mean, abs=1e-6)
    assert three.time.sd == pytest.approx(sd, rel=0.005)
    assert ten.time.sd == pytest.approx(0.00822 * math.sqrt(10), rel=0.005)
    misses = ten.stats["cache_misses"]
    assert misses.mean == 1376989875
    assert misses.sd == pytest.approx(1376989875 * 0.02 * math.sqrt(10), rel=0.005)
    assert math.isnan(five.stats["context_switches"].sd)


def test_averages_keep_their_digits_and_are_no_runs(tmp_path: Path) -> None:
    into = bring(tmp_path, "repeated.txt")

    assert not (into / "records").exists()
    (table,) = make_tables(into)
    cells = cells_by_title(table)
    # The deviation is 0.000514 x sqrt(5).
    shown = [cells[title] for title in ("n", "time mean (s)", "sd (s)", "migrations")]
    assert shown == ["5", "0.052881", "0.00115", "0"]
    assert cells["frequency (GHz)"].startswith("n/a")


def test_averages_are_added_to_means_that_do_not_tell_the_build(tmp_path: Path) -> None:
    means = tmp_path / "means.csv"
    means.write_text(
        "app,threads,mapping,table_number,case_number,elapsed_mean_s\nlulesh,1,unpinned,1,1,4.5\n"
    )
    import_summaries(means, tmp_path / "results")

    # Blanks around a name make no other table.
    (table,) = make_tables(bring(tmp_path, "repeated.txt", app=" lulesh "))

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
        ("", ["german.txt"], {"node": "x" * 65}, "is no name of a node"),
        ("", ["german.txt"], {"app": None}, "give --app, or {app} in --pattern"),
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


@pytest.mark.parametrize("odd", [{}, {"imported": {}, "app": []}])
def test_results_of_pinstudy_are_not_added_to(tmp_path: Path, odd: dict[str, Any]) -> None:
    shards = tmp_path / "results" / "records"
    shards.mkdir(parents=True)
    (shards / "node1-0001.jsonl").write_bytes(line_of({"case_id": "x"} | odd))
    with pytest.raises(UserError, match=r"holds runs that pinstudy made"):
        bring(tmp_path, "german.txt")


def test_file_names_tell_the_case_and_rows_are_numbered_as_published(tmp_path: Path) -> None:
    mappings = ("ecores-pin", "pcores-pin", "unpinned", "my cpus")
    text = (LOGS / "german.txt").read_text()
    logs: list[Path] = []
    for governor in ("powersave", "performance"):
        for mapping in mappings:
            for repetition in (1, 2):
                log = tmp_path / f"lulesh_8_{mapping}_{governor}_{repetition}.txt"
                log.write_text(text.replace("1,24", f"1,{len(logs) + 10}"))
                logs.append(log)
    pattern = "{app}_{threads}_{mapping}_{governor}_{repetition}.txt"

    import_logs(logs, tmp_path / "out", {"pattern": pattern})

    (table,) = make_tables(tmp_path / "out")
    published = ("unpinned", "pcores-pin", "ecores-pin", "my cpus")
    assert [(row[0], row[1], row[2].split()[0], row[3]) for row in table.cells] == [
        (str(4 * at + number), mapping, governor, "2")
        for at, governor in enumerate(("performance", "powersave"))
        for number, mapping in enumerate(published, 1)
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
    # Folders may be part of a pattern.
    of_folders = Identifier({"threads": 2, "pattern": "{mapping}/{app}.txt"})
    found = of_folders.identify(Path("a/pcores-pin/lulesh.txt")).fields
    assert (found["mapping"], found["app"]) == ("pcores-pin", "lulesh")


@given(st.text(max_size=12), st.text(max_size=12).map(lambda text: f"{{app}}{text}"))
def test_whatever_a_pattern_and_a_name_are_there_is_no_traceback(name: str, pattern: str) -> None:
    identifier: Options = {"threads": 1, "mapping": "m", "pattern": pattern}
    try:
        found = Identifier(identifier).identify(Path("x") / name)
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
