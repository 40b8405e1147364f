"""Every form in which perf has printed its counts is read, and nothing else is taken for one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from pinstudy.runners.records.perf.output import PerfOutput, Row, parse_perf_output, split_event
from tests.support.tools import DATA

RECORDED = DATA / "perf"


def parse_file(name: str) -> PerfOutput:
    return parse_perf_output((RECORDED / name).read_text())


def only_row(line: str) -> Row:
    output = parse_perf_output(line)
    assert output.unparsed == ()
    (row,) = output.rows
    return row


def counted(event: str, pmu: str | None, value: float, run_ns: int, **more: Any) -> Row:  # noqa: ANN401
    return Row(event, pmu, "", value, more.pop("unit", ""), run_ns, "counted", **more)


def test_all_recorded_forms_are_read_and_metric_lines_passed_over() -> None:
    csv = (
        counted("cpu-clock", None, 0.71, 715192, unit="msec", error_percent=16.53),
        Row("cycles", None, "", None, "", 0, "not supported", error_percent=0.0),
        Row("instructions", "cpu_atom", "", None, "", 0, "not counted"),
        counted("instructions", "cpu_atom", 6720143357, 16548968),
        counted("cycles", "cpu_atom", 14567877, 527685, time_s=0.100105668),
        counted("energy-pkg", "power", 475.42, 20005659301, unit="Joules"),
    )
    assert parse_file("forms.csv") == PerfOutput(csv, ())
    json = (
        counted("cycles", "cpu_atom", 3011411, 16080917475),
        Row("branch-misses", "cpu_atom", "", None, "", 0, "not counted"),
    )
    assert parse_file("forms.jsonl") == PerfOutput(json, ())
    metric = '{"metric-value" : "3.1", "metric-unit" : "GHz"}'
    assert parse_perf_output(metric) == PerfOutput((), ())


def test_output_of_a_guest_is_read_in_both_formats_and_says_what_is_of_user_mode() -> None:
    csv, json = parse_file("guest.csv"), parse_file("guest.jsonl")
    assert csv.unparsed == json.unparsed == ()
    assert [row.event for row in csv.rows[:5]] == [row.event for row in json.rows]
    assert csv.rows[0] == counted("task-clock", None, 610.31, 610313971, unit="msec")
    assert csv.rows[2] == counted("cpu-migrations", None, 799, 610313971)
    assert json.rows[4] == csv.rows[4] == Row("cycles", None, "", None, "", 0, "not supported")
    assert not any(row.user_only for row in csv.rows)
    assert all(row.user_only for row in parse_file("guest-user.csv").rows)


@pytest.mark.parametrize(("share", "always"), [("100.00", True), ("99.00", False), ("0.00", False)])
def test_only_a_full_share_is_exact(share: str, always: bool) -> None:
    assert only_row(f"5,,cpu_core/cycles/,16548968,{share},,").always is always


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cycles:ppp", (None, "cycles", "ppp")),
        ("cpu_core/event=0x3c,umask=0/", ("cpu_core", "event=0x3c,umask=0", "")),
        ("data_reads [uncore_imc_0]", ("uncore_imc_0", "data_reads", "")),
        ("sched:sched_switch", (None, "sched:sched_switch", "")),
        ("sched:sched_switch:k", (None, "sched:sched_switch", "k")),
        ("mem_load_retired.l3_miss", (None, "mem_load_retired.l3_miss", "")),
        *((name, None) for name in ("100.00", "", "two words", "a/b/c/d")),
    ],
)
def test_event_names_of_versions(name: str, expected: tuple[str | None, str, str] | None) -> None:
    assert split_event(name) == expected


def test_an_event_name_may_hold_the_separator_and_a_modifier_on_either_side() -> None:
    row = only_row("5,,cpu_core/event=0x3c,umask=0/,7,100.00,1.3,K/sec")
    assert (row.event, row.run_ns) == ("event=0x3c,umask=0", 7)
    for name in ("cpu_core/cycles:u/", "cpu_core/cycles/u"):
        assert only_row(f"1,,{name},5,100.00,,").name == "cpu_core/cycles/u"


JSON = (
    '{"counter-value" : "12.0", "unit" : "", "event" : "cycles", "event-runtime" : 3, '
    '"pcnt-running" : 100.00, %s}'
)
TWELVE = Row("cycles", None, "", 12, "", 3, "counted", always=True)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('"variance" : 0.72, "metric-value" : 92.9', replace(TWELVE, error_percent=0.72)),
        ('"interval" : 1.0002, "cpu" : "3"', replace(TWELVE, aggregate="3", time_s=1.0002)),
        ('"cluster" : "S0-D0-CLS1"', replace(TWELVE, aggregate="S0-D0-CLS1")),
        ('"cache" : "S0-D0-L3-ID8"', replace(TWELVE, aggregate="S0-D0-L3-ID8")),
        ('"cgroup" : "user.slice"', replace(TWELVE, aggregate="user.slice")),
        # Newer perf judges metrics, and has another name for how many counts a row sums.
        ('"metric-value" : "3.2", "metric-unit" : "of all", "metric-threshold" : "good"', TWELVE),
        ('"core" : "S0-D0-C8", "counters" : 2', replace(TWELVE, aggregate="S0-D0-C8")),
        ('"cluster" : "S0-D0-CLS3", "counters" : 4', replace(TWELVE, aggregate="S0-D0-CLS3")),
        ('"node" : "N1", "counters" : 8', replace(TWELVE, aggregate="N1")),
        ('"thread" : "a.out-77"', replace(TWELVE, aggregate="a.out-77")),
        # perf 6.1 writes what is no JSON, and any perf a locale's comma.
        ('"metric-value" : -nan, "metric-unit" : "GHz"', TWELVE),
        ('"variance" : "0,72"', replace(TWELVE, error_percent=0.72)),
    ],
)
def test_json_rows_are_read_with_what_options_add(more: str, expected: Row) -> None:
    row = only_row(JSON % more)
    assert row == expected
    assert row.always


def test_metrics_in_lines_of_their_own_are_passed_over() -> None:
    # As Linux's stat-print of 2026 does (json_print_metric): with the running time of their events.
    own = '"core" : "S0-D0-C0", "counters" : 2, '
    metric = (
        f'{{{own}"event-runtime" : 3, "pcnt-running" : 50.00, "metric-value" : "1.2", '
        '"metric-unit" : "GHz  cycles_frequency", "metric-threshold" : "nearly bad"}'
    )
    count = JSON % '"core" : "S0-D0-C0", "counters" : 2'
    output = parse_perf_output(f"{count}\n{metric}\n{metric.replace(own, '')}\n{count}\n")
    assert output.unparsed == ()
    assert [(row.aggregate, row.summed, row.value) for row in output.rows] == [
        ("S0-D0-C0", 2, 12.0)
    ] * 2


@pytest.mark.parametrize("name", ["event", "counter-value", "unit", "event-runtime", "cpu"])
def test_a_json_row_that_says_two_things_is_none(name: str) -> None:
    line = JSON % f'"cpu" : "0", "{name}" : "7"'
    assert parse_perf_output(line) == PerfOutput((), (line,))


NO_ROWS = [
    *("Killed", "133119427,,cpu_atom/cycles/", "133119427,,cpu_atom/cycles/,527"),
    *("133119427,,cpu_atom/cycles/,527,", "610,31;msec;task-clock;610313971;100.00"),
    *("nan;;cycles;5;100.00", "1e999;;cycles;5;100.00", "5;;cycles;-5;100.00"),
    *("5;;cycles;" + "9" * 5000 + ";100.00", "<unknown>;;cycles;5;100.00", ";;;;"),
    *("123,456,,cycles,5,100.00", '{"counter-value" : "5", "event" : "cycles"}'),
    '{"counter-value" : "5", "event" : "cycles", "event-runtime" : true}',
    *('{"counter-value" : "5", "event"', "{" * 100000, '{"a":' * 100000, "[1, 2]"),
]


@pytest.mark.parametrize("line", NO_ROWS, ids=[line[:40] for line in NO_ROWS])
def test_what_is_no_row_is_handed_back_as_it_was(line: str) -> None:
    assert parse_perf_output(f"1;;cycles;5;100.00\n{line}\n") == PerfOutput(
        rows=(Row("cycles", None, "", 1, "", 5, "counted"),), unparsed=(line,)
    )


def printed(row: Row, inside: bool) -> tuple[str, str]:
    """Return the name and the value of a row as perf prints them; modifiers may stand inside."""
    value = f"<{row.state}>" if row.value is None else f"{row.value:.10g}"
    if row.pmu is None:
        return row.event + (f":{row.modifiers}" if row.modifiers else ""), value
    if inside and row.modifiers:
        return f"{row.pmu}/{row.event}:{row.modifiers}/", value
    return f"{row.pmu}/{row.event}/{row.modifiers}", value


PMUS = (None, "cpu", "cpu_lowpower", "armv8_cortex_a53", "apple_icestorm_pmu")
ROWS = [
    *(counted("cycles", pmu, 2.0**33, 2**62) for pmu in PMUS),
    *(replace(counted("cache-misses", "cpu_core", 5.25, 7), modifiers=m) for m in ("u", "k", "uk")),
    *(counted("L1-dcache-loads", None, 0.0, 0, unit=unit) for unit in ("", "msec", "Joules")),
    Row("uops_retired.slots", "cpu_atom", "u", None, "", 0, "not counted"),
    Row("uops_retired.slots", None, "u", None, "", 0, "not supported"),
]
# What -I, -A and --per-* put before a value: the aggregate and the time that it tells.
LEADS: list[tuple[str, str | None, float | None]] = [
    ("", None, None),
    ("     1.000210250|", None, 1.00021025),
    ("CPU3|", "CPU3", None),
    ("N1|4|", "N1", None),
    ("     1.000210250|S0-D0-C12|2|", "S0-D0-C12", 1.00021025),
    ("a.out-1234|", "a.out-1234", None),
]
METRICS = ("", "||", "|0.310|CPUs utilized", "|3.1|K/sec")


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("separator", [";", ","])
def test_csv_in_every_form(separator: str, lead: tuple[str, str | None, float | None]) -> None:
    columns, aggregate, time_s = lead
    expected = tuple(replace(row, aggregate=aggregate, time_s=time_s) for row in ROWS)
    for inside, variance, metric in product((True, False), ("", "|0.00%", "|16.53%"), METRICS):
        lines = ["# started on Sat Jan  1 00:00:00 2022", ""]
        for row in ROWS:
            name, value = printed(row, inside)
            line = f"{columns}{value}|{row.unit}|{name}{variance}|{row.run_ns}|100.00{metric}"
            lines.append(line.replace("|", separator))
        output = parse_perf_output("\n".join(lines))
        assert output.unparsed == ()
        assert tuple(replace(row, error_percent=None) for row in output.rows) == expected


@pytest.mark.parametrize("inside", [True, False])
def test_json_rows_survive_the_round_trip(inside: bool) -> None:
    lines = []
    for row in ROWS:
        name, value = printed(row, inside)
        lines.append(
            f'{{"counter-value" : "{value}", "unit" : "{row.unit}", "event" : "{name}", '
            f'"event-runtime" : {row.run_ns}, "pcnt-running" : 100.00}}'
        )
    assert parse_perf_output("\n".join(lines)) == PerfOutput(tuple(ROWS), ())
