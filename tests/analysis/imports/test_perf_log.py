"""Every form in which somebody's log of perf stat may come is read, and nothing else is."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinstudy.analysis.imports.perf_log import Block, localised, read_log
from pinstudy.base.errors import ConfigError, UserError
from tests.support.tools import DATA

LOGS = DATA / "perf_logs"
HEAD = " Performance counter stats for './x':\n"
END = "  1.0 seconds time elapsed\n"
TEXT = (LOGS / "german.txt").read_text()
ROW = "5;;page-faults;100;100.00\n"
JSON_ROW = (
    '{"counter-value" : "5", "unit" : "", "event" : "faults", "event-runtime" : 100, '
    '"pcnt-running" : 100.00, %s}'
)


def only(name: str) -> Block:
    (block,) = read_log(LOGS / name)
    return block


def values(block: Block) -> dict[str, float | None]:
    return {row.name: row.value for row in block.rows}


def blocks_of(folder: Path, text: str) -> list[Block]:
    """Return the runs of a log with this text."""
    path = folder / "mine.log"
    path.write_text(text, encoding="utf-8")
    return read_log(path)


def block_of(folder: Path, text: str) -> Block:
    (block,) = blocks_of(folder, text)
    return block


def problem(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        blocks_of(folder, text)
    return str(caught.value).removeprefix(str(folder) + "/")


@pytest.mark.parametrize(
    ("name", "repeats", "elapsed", "error_s"),
    [
        ("repeated.txt", 5, "0.052881", 0.000514),
        # Single times stand in a table of their own, which is passed over.
        ("repeated-table.txt", 3, "0.023285", 0.000323),
        ("french-repeated.txt", 10, "45.07300", 0.00822),
        ("old.txt", 4, "0.811", 0.811 * 0.005),
        # The mean time x the percentage that duration_time's row has; nothing tells how many runs.
        ("repeated.csv", None, "0.051572180", 0.051572180 * 0.0076),
        ("repeated.json", None, "0.051697407", 0.051697407 * 0.0196),
    ],
)
def test_averages_have_their_time_its_error_and_their_number(
    name: str, repeats: int | None, elapsed: str, error_s: float
) -> None:
    block = only(name)

    assert (block.averaged, block.repeats) == (True, repeats)
    assert block.elapsed_s == pytest.approx(float(elapsed), abs=1e-9)
    assert block.elapsed_error_s == pytest.approx(error_s, rel=0.01)


def test_rows_of_averages_have_their_errors() -> None:
    rows = only("repeated.txt").rows

    assert [row.error_percent for row in rows] == [4.99, 78.10, None, 0.33, None]
    assert rows[4].state == "not supported"
    assert values(only("repeated.txt"))["page-faults"] == 75
    assert values(only("old.txt"))["task-clock"] == 803.625123
    assert len(only("repeated-table.txt").rows) == 8


@pytest.mark.parametrize(
    ("name", "elapsed"),
    [
        ("three-runs.txt", [0.022193446, 0.021591851, 0.020765021]),
        ("three-runs.csv", [0.021999747, 0.022337129, 0.022291140]),
        ("three-runs.json", [0.021864917, 0.021516689, 0.023317648]),
    ],
)
def test_a_file_may_hold_several_runs(name: str, elapsed: list[float]) -> None:
    blocks = read_log(LOGS / name)

    assert [block.elapsed_s for block in blocks] == elapsed
    assert not any(block.averaged for block in blocks)
    assert len({len(block.rows) for block in blocks}) == 1


def test_several_runs_are_told_apart_without_the_lines_between(tmp_path: Path) -> None:
    lines = (LOGS / "three-runs.csv").read_text().split("\n")
    blocks = blocks_of(tmp_path, "\n".join(line for line in lines if not line.startswith("#")))
    assert [block.elapsed_s for block in blocks] == [0.021999747, 0.022337129, 0.022291140]


@pytest.mark.parametrize("name", ["pipe.csv", "tab.csv", "comma-space.csv"])
def test_any_separator_of_csv_will_do(name: str) -> None:
    block = only(name)
    events = {"task-clock", "context-switches", "page-faults", "duration_time"}
    assert set(values(block)) >= events
    assert block.elapsed_s is not None
    assert 0.05 < block.elapsed_s < 0.06


def test_blanks_may_separate_rows_without_a_count(tmp_path: Path) -> None:
    block = block_of(
        tmp_path,
        "0.60 msec task-clock 597521 100.00 0.138 CPUs utilized\n"
        "61  page-faults 597521 100.00 102.242 K/sec\n"
        "<not supported>  cycles 0 100.00  \n"
        "<not counted>  instructions 0 0.00  \n",
    )
    assert [(row.name, row.value, row.state) for row in block.rows] == [
        ("task-clock", 0.6, "counted"),
        ("page-faults", 61, "counted"),
        ("cycles", None, "not supported"),
        ("instructions", None, "not counted"),
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1376989875", 1376989875),
        ("1,376,989,875", 1376989875),
        ("1.376.989.875", 1376989875),
        ("1'376'989'875", 1376989875),
        ("1\N{NARROW NO-BREAK SPACE}376\N{NO-BREAK SPACE}989 875", 1376989875),
        ("1,234.56", 1234.56),
        ("1.234,56", 1234.56),
        ("1234,56", 1234.56),
        ("0.80", 0.8),
        ("803.625123", 803.625123),
        ("1,234", 1234),
        ("0", 0),
        ("1.234,567", 1234.567),
        ("1'234.567890", 1234.56789),
        ("11,75,08,755", 117508755),  # en_IN
        ("1,23,456.78", 123456.78),
    ],
)
def test_numbers_of_every_locale_are_the_same_numbers(text: str, number: float) -> None:
    assert localised(text) == number


@pytest.mark.parametrize(
    "count",
    [
        *("1,234,56", "1.234,567.8", "1,234.567,890", "1,23,45", "1,,234", "1_000"),
        *("\u0661\u0662", "\uff11\uff12", "0x10", "1e3", "-5", "nan", "+5"),
    ],
)
def test_what_no_locale_writes_is_no_number(tmp_path: Path, count: str) -> None:
    text = f"{HEAD}\n  {count}      cycles\n\n       1.5 seconds time elapsed\n"
    assert problem(tmp_path, text).startswith(f"mine.log:3:1: '{count}      cycles' is no line of")


@pytest.mark.parametrize("count", ["11,75,08,755", "1,23,456", "12,345", "1.376.989.875"])
def test_a_grouped_count_is_read_whole(tmp_path: Path, count: str) -> None:
    block = block_of(tmp_path, TEXT.replace("1.376.989.875", count))
    assert values(block)["cycles"] == int(count.replace(",", "").replace(".", ""))


def test_metrics_without_a_count_are_passed_over(tmp_path: Path) -> None:
    metrics = (
        "                    (software)       #    824.4 cs/sec  cs_per_second\n"
        "          TopdownL1 (cpu_core)       #     12.6 %  tma_bad_speculation\n"
        "                                     #     28.8 %  tma_frontend_bound   (66.57%)\n"
    )
    block = block_of(tmp_path, TEXT.replace("\n       1,240", f"{metrics}\n       1,240"))
    assert block.rows == only("german.txt").rows
    assert block.elapsed_s == 1.24


def test_a_line_of_many_blanks_is_read_at_once(tmp_path: Path) -> None:
    text = TEXT.replace("cpu-migrations", f"cpu-migrations{' ' * 100_000}(x")
    began = time.process_time()

    assert problem(tmp_path, text).startswith("mine.log:5:1: '7      cpu-migrations")

    # Milliseconds; but minutes where each blank is a place to start looking.
    assert time.process_time() - began < 20


@pytest.mark.parametrize(("runs", "repeats"), [("", 1), (" (5 runs)", 5)])
def test_a_command_of_several_lines_is_one_header(tmp_path: Path, runs: str, repeats: int) -> None:
    script = "'sh -c for n in 1 2\ndo ./a.out\ndone'"
    text = 2 * TEXT.replace("'./a.out'", f"{script}{runs}")

    blocks = blocks_of(tmp_path, text)

    assert [(block.repeats, block.line) for block in blocks] == [(repeats, 1), (repeats, 13)]
    assert [block.rows for block in blocks] == [only("german.txt").rows] * 2
    # Lines are counted as they are in the file.
    broken = text.replace("             7", "        twelve", 1)
    assert problem(tmp_path, broken).startswith("mine.log:7:1: 'twelve")


def test_other_locales_times_and_shares_are_read() -> None:
    german, french = only("german.txt"), only("french-repeated.txt")

    assert (german.elapsed_s, german.user_s, german.system_s) == (1.24, 1.23, 0.00456)
    assert values(german) == {"task-clock": 1234.56, "cycles": 1376989875, "cpu-migrations": 7}
    assert german.rows[1].run_ns == 617_280_000  # 50 % of 1234.56 ms
    assert french.elapsed_text == "45.07300"


def test_rows_of_a_hybrid_node_have_the_share_of_time_that_they_were_counting() -> None:
    block = only("hybrid.txt")

    run_ns = {row.name: row.run_ns for row in block.rows}
    assert run_ns["cpu_core/cycles/"] == 900_000_000
    assert run_ns["cpu_atom/cycles/"] == 100_000_000
    assert run_ns["cpu_atom/instructions/"] == 0
    assert values(block)["cpu_core/cycles/"] == 5_000_000_000
    assert (block.user_s, block.system_s, block.system_wide) == (0.99, 0.01, False)


def test_what_was_counted_on_all_cpus_is_marked() -> None:
    for name in ("energy.txt", "energy-by-package.csv", "per-cpu.txt"):
        assert only(name).system_wide
    assert [row.aggregate for row in only("per-cpu.txt").rows[:2]] == ["CPU0", "CPU1"]


def test_rows_of_several_caches_are_one_run_of_all_cpus(tmp_path: Path) -> None:
    rows = [JSON_ROW % f'"cache" : "S0-D0-L3-ID{cache}"' for cache in (0, 8)]
    block = block_of(tmp_path, "\n".join(rows))
    assert [row.aggregate for row in block.rows] == ["S0-D0-L3-ID0", "S0-D0-L3-ID8"]
    assert block.system_wide


KILLED = "perf said of the program: Killed"
WIDE = TEXT.lstrip().replace("'./a.out'", "'system wide'")


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        ((LOGS / "killed.txt").read_text(), ["perf said of the program: Segmentation fault"]),
        ((LOGS / "hybrid.txt").read_text(), [""]),
        (f"other: Killed\n{TEXT}", [""]),
        # Counts of all CPUs tell of the program's end, too.
        (f"hello\n./a.out: Killed\n\n {WIDE}", [KILLED]),
        # The program's own words about another one.
        (f"hello\n./a.out: Killed\nall done\n\n {WIDE}", [""]),
        (f"./x: Killed\n{ROW}{ROW}", [KILLED, ""]),
    ],
)
def test_a_program_killed_by_a_signal_has_failed(
    tmp_path: Path, text: str, failures: list[str]
) -> None:
    assert [block.failure for block in blocks_of(tmp_path, text)] == failures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: no counts here; expected a log of perf stat"),
        ("hello\n", "1:1: 'hello' is no row of perf stat -x or -j; expected nothing else"),
        (ROW + "7;;cs;100\n", "2:1: '7;;cs;100' is no row of perf stat"),
        (ROW + "7;;cs;100;100.00\n" * 2, "3:1: cs again, in the middle of a run"),
        ("0.100105668;5;;page-faults;100;100.00\n", "1:1: counts of intervals"),
        ("#           time             counts unit events\n", "1:1: counts of intervals"),
        ("a.out-12;" + ROW, "1:1: counts of 'a.out-12' alone"),
        (JSON_ROW % '"thread" : "a.out-12"', "1:1: counts of 'a.out-12' alone"),
        (JSON_ROW % '"cgroup" : "user.slice"', "1:1: counts of 'user.slice' alone"),
        (TEXT.split("\n\n   ")[0], "1:1: cut off"),
        (TEXT.replace("             7", "      twelve"), "5:1: 'twelve      cpu-migr"),
        (TEXT.replace("cycles  ", "cycles user.slice"), "4:1: '1.376.989.875"),
        (TEXT.replace("cpu-migrations", "no event/"), "5:1: '7      no event/"),
        # Neither can be a record: counts and times have bounds.
        (ROW + "1e300;;cycles;2000000000;100.00\n", "2:1: '1e300;;cycles;2000000000;100"),
        (ROW + "0;ns;duration_time;100;100.00\n", "1:1: an elapsed time of 0 s, which no"),
        (ROW + "-1;ns;duration_time;100;100.00\n", "1:1: an elapsed time of -1e-09 s"),
        (ROW + "1e20;ns;duration_time;100;100.00\n", "1:1: an elapsed time of 1e+11 s"),
        (TEXT.replace("1,240", "0,000"), "1:1: an elapsed time of 0 s"),
        (f"{HEAD}  55565 task-clock     #    0.999 CPUs utilized\n  55.6 seconds time elapsed\n",
         "2:1: a clock without a unit, which is no time of 0.999 CPUs in 55.6 s"),
        ("".join(f"{n};;e{n};100;100.00;;\n" for n in range(1001)),
         "1:1: 1001 events; expected at most 1000"),
        (HEAD + "".join(f"CPU{n}  9  cycles\n" for n in range(100_001)) + END,
         "100002:1: more than 100000 counts"),
    ],
    ids=range(21),
)  # fmt: skip
def test_what_is_no_log_is_an_error_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert problem(tmp_path, text).startswith(f"mine.log:{expected}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.txt: cannot be read .*a log of perf stat"):
        read_log(tmp_path / "nothing.txt")


PIECES = st.one_of(
    st.sampled_from([line for path in sorted(LOGS.iterdir())
                     for line in path.read_text().split("\n")]),
    st.text(max_size=30),
    st.sampled_from(["1" * 5000, "<not counted>", "  1,5 +- 2 seconds time elapsed", "{", "{}",
                     '{"event": 1, "counter-value": "1e999"}', "9" * 300 + ";;cs;1;100.00"]),
)  # fmt: skip


@given(st.lists(PIECES, max_size=12), st.sampled_from(["\n", "\r\n", "\x1b[31m", ";"]))
@example([" Performance counter stats for 'x' (0 runs):", "0 +- 0 seconds time elapsed"], "\n")
@example(["(" * 50 + " 5 " + "%" * 50], "\n")
def test_whatever_a_file_holds_there_is_no_traceback(lines: list[str], end: str) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "mine.log"
        path.write_bytes(end.join(lines).encode("utf-8", "replace"))
        try:
            blocks = read_log(path)
        except UserError as error:
            assert "mine.log" in str(error)
            assert len(str(error).splitlines()) == 1
        else:
            assert all(block.line >= 1 for block in blocks)


# perf 2.6.31 and up (tools/perf/builtin-stat.c, nsec_printout, print_noise, print_stat).
OLDEST = """
 Performance counter stats for './solve 4' (3 runs):

    3147.437358  task-clock-msecs         #      1.793 CPUs    ( +-   0.180% )
           1753  context-switches         #      0.001 M/sec   ( +-   3.090% )
              4  CPU-migrations           #      0.000 M/sec   ( +-   0.000% )
      <not counted>  cache-misses
     9531213213  cycles                   #   3028.213 M/sec   ( +-   0.020% )  (scaled from 66.67%)
            250  raw 0x1a8                #      0.000 M/sec   ( +-   0.020% )

    1.755402157  seconds time elapsed   ( +-   8.561% )

"""


def test_blanks_between_words_may_be_any(tmp_path: Path) -> None:
    block = block_of(
        tmp_path,
        "Performance  counter stats for  './x'  (4  runs) :\n\n  5\tpage-faults\n\n"
        "\t1.5  +-  0.1   seconds\ttime  elapsed\n",
    )
    assert (block.repeats, block.elapsed_s, block.elapsed_error_s) == (4, 1.5, 0.1)
    assert values(block) == {"page-faults": 5}


def test_the_oldest_forms_of_perf_are_read(tmp_path: Path) -> None:
    block = block_of(tmp_path, OLDEST)

    clock, switches, migrations, misses, cycles, raw = block.rows
    assert (clock.value, clock.unit, clock.error_percent) == (3147.437358, "msec", 0.18)
    assert (switches.value, migrations.value, misses.value) == (1753, 4, None)
    assert (cycles.value, cycles.always) == (9531213213, False)
    assert cycles.run_ns == pytest.approx(0.6667 * 3_147_437_358, abs=1)
    assert (raw.event, raw.value) == ("r1a8", 250)
    assert (block.elapsed_s, block.repeats) == (1.755402157, 3)
    assert block.elapsed_error_s == pytest.approx(0.08561 * 1.755402157)


@pytest.mark.parametrize(
    ("clock", "ns"),
    [
        ("55565.778954 task-clock", 55_565_778_954),
        ("55565,778954 task-clock", 55_565_778_954),
        ("55.565,778954 cpu-clock", 55_565_778_954),
        ("55565.000000 task-clock-msecs", 55_565_000_000),
        ("55,565.78 msec task-clock", 55_565_780_000),
        ("55565.778954 task-clock  (msec)", 55_565_778_954),
        # Of late 2025.
        ("55,565,778,954 task-clock", 55_565_778_954),
        ("55565778954 task-clock:u", 55_565_778_954),
    ],
)
def test_a_clock_has_the_unit_of_its_perf(tmp_path: Path, clock: str, ns: int) -> None:
    end = "  55.644597914 seconds time elapsed\n"
    block = block_of(tmp_path, f"{HEAD}  {clock}     #    0.999 CPUs utilized\n{end}")
    assert block.rows[0].run_ns == ns


J_CLOCK = (
    '{"counter-value" : "314.610000", "unit" : "msec", "event" : "task-clock", "event-runtime" : '
    '314610000, "pcnt-running" : 100.00, "metric-value" : "0.990000", "metric-unit" : "CPUs"}'
)
J_TIME = (
    '{"counter-value" : "350000000.000000", "unit" : "ns", "event" : "duration_time", '
    '"event-runtime" : 350000000, "pcnt-running" : 100.00}'
)


@pytest.mark.parametrize(
    "text",
    [
        # perf 6.12: no metric follows.
        f"{J_CLOCK}\n{J_TIME.replace('100.00}', '100.00, }')}\n",
        f"{J_CLOCK.replace(', ', ', , ')}\n{J_TIME.replace('{', '{, ')}\n",
        J_CLOCK.replace(': "0.990000"', ": ") + f"\n{J_TIME}\n",
        J_CLOCK.replace('"0.990000"', "-nan") + f"\n{J_TIME}\n",
        # A locale with decimal commas.
        f"{J_CLOCK.replace('.', ',')}\n{J_TIME.replace('.', ',')}\n",
        # Tools that collect or show JSON.
        f"{J_CLOCK} {J_TIME}\n",
        f"{J_CLOCK},{J_TIME}\n",
        f"[{J_CLOCK},\n{J_TIME}]\n",
        f"[\n{J_CLOCK},\n{J_TIME}\n]\n",
        f"{J_CLOCK}\n{J_TIME}\n".replace(", ", ",\n  ").replace("{", "{\n  ").replace("}", "\n}"),
    ],
)
def test_json_that_is_not_quite_perf_s_rows_is_read(tmp_path: Path, text: str) -> None:
    block = block_of(tmp_path, text)
    assert values(block) == {"task-clock": 314.61, "duration_time": 350_000_000}
    assert block.elapsed_s == 0.35
    assert all(row.always for row in block.rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (J_CLOCK.replace('"task-clock"', "task-clock"), "1:1: *; broken JSON (column 61: "),
        (f"{J_CLOCK[:80]}\n{J_TIME}", "1:1: *; broken JSON (column 75: Unterminated string"),
        (f"{J_CLOCK}\n{J_TIME[:70]}", "2:1: *; broken JSON (column 65: Unterminated string"),
        (J_TIME.replace("unit", "event"), "1:1: *; broken JSON (a name is there twice)"),
        ('{"results" : 1}', "1:1: *; expected its counter-value, event, event-runtime and"),
        ("{}", "1:1: *; derived numbers only (--metric-only), no counts"),
        ('{"CPUs utilized" : "0.990"}', "1:1: *; derived numbers only (--metric-only), no counts"),
        (
            '{"core" : "S0-D0-C0", "counters" : 2, "GHz  cycles_frequency" : "1.2"}',
            "1:1: *; derived numbers only (--metric-only), no counts",
        ),
        (
            "CPUs utilized,/sec,/sec,GHz,insn per cycle,\n0.990,1.0,2.0,3.7,2.1,\n",
            "1:1: *; derived numbers only (--metric-only), no counts",
        ),
        (f"{HEAD}  CPUs utilized   GHz\n   0.9   3.7\n{END}", "2:1: *; derived numbers only"),
        ("3147.437358,task-clock\n", "1:1: *; it has no running time, as in perf before 4.1"),
        ("CPU0;9;msec;cpu-clock;0.10%\n", "1:1: *; it has no running time, as in perf before 4.1"),
        # Decimal commas between commas.
        ("18,50,Joules,power/energy-pkg/,1001759924,100,00,,\n", "1:1: *numbers with decimal"),
        ("CPU0,18,50,Joules,power/energy-pkg/,10017,100,00,,\n", "1:1: *numbers with decimal"),
        ("S0,8,18,50,Joules,power/energy-pkg/,10017,100,00,,\n", "1:1: *numbers with decimal"),
        ("5,,page-faults,0,52%,10017,100,00,,\n", "1:1: *; numbers with decimal commas in a log"),
        ("314,61,msec,task-clock,314610000,100,00,0,990,CPUs\n", "1:1: *numbers with decimal"),
        (f"{ROW}./x: Killed\n", "2:1: perf said of the program: Killed; expected its counts below"),
    ],
)  # fmt: skip
def test_what_is_no_row_has_its_own_cause(tmp_path: Path, text: str, expected: str) -> None:
    place, _, cause = expected.partition("*")
    found = problem(tmp_path, text)
    assert found.startswith(f"mine.log:{place}")
    assert cause in found
    assert len(found.splitlines()) == 1


# Linux tools/perf/builtin-stat.c, util/stat-display.c, util/parse-events.c, util/evlist.c.
NOTES = """Events disabled
Events enabled
WARNING: events were regrouped to match PMUs
Warning:
cpu_core/topdown-retiring/ event is not supported by the kernel.
kernel.perf_event_paranoid=2, trying to fall back to excluding kernel and hypervisor  samples
WARNING: grouped events cpus do not match.
Events with CPUs not matching the leader will be removed from the group.
  anon group { cycles, power/energy-pkg/ }
Using CPUID GenuineIntel-6-97-2
Control descriptor is not initialized
[ perf stat: executing run #1 ... ]
task-clock: 314610000 314610000 314610000
"""


@pytest.mark.parametrize("rows", [ROW, f"{HEAD}  5 page-faults\n{END}"])
def test_perf_s_own_words_beside_its_counts_are_passed_over(tmp_path: Path, rows: str) -> None:
    begin, _, end = rows.rpartition("\n  5 ")
    block = block_of(tmp_path, f"{begin}\n{NOTES}  5 {end}" if begin else f"{NOTES}{end}{NOTES}")
    assert values(block) == {"page-faults": 5}
    assert "'hello' is no row" in problem(tmp_path, f"{NOTES}hello\n{ROW}")


@pytest.mark.parametrize("separator", [";", "|", "\t", ":"])
@pytest.mark.parametrize("place", ["S0*8*", "S0-D0-L3-ID8*2*", "CPU0*", ""])
def test_decimal_commas_between_other_separators_are_read(
    tmp_path: Path, separator: str, place: str
) -> None:
    row = f"{place}18,50*Joules*power/energy-pkg/*1001759924*100,00**\n"
    block = block_of(tmp_path, row.replace("*", separator))
    assert [(row.value, row.aggregate, row.always) for row in block.rows] == [
        (18.5, place.partition("*")[0] or None, True)
    ]
    averaged = block_of(tmp_path, "3,55;msec;task-clock;15,05%;3552123;100,00;0,064;CPUs\n")
    assert (averaged.rows[0].value, averaged.rows[0].error_percent) == (3.55, 15.05)


def test_a_log_that_a_shell_of_windows_redirected_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode("utf-16"))
    assert read_log(path)[0].rows == only("german.txt").rows
