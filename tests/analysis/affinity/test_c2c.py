"""Contended cache lines in a results folder: told with their CPUs, and never half believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.analysis.affinity.c2c import LinesByCase, lines_section, read_c2c
from pinstudy.analysis.results.node_files import NodeCpus
from pinstudy.runners.measure.perf.c2c import contended_lines, read_samples
from tests.support.changed import JSON_VALUES, with_value
from tests.support.tools import ROOT

SCRIPT = ROOT / "tests" / "data" / "c2c" / "script.txt"
HYBRID = NodeCpus({0: "P", 1: "P", 12: "E", 13: "E"}, ("P", "E"))
EQUAL = NodeCpus(dict.fromkeys(range(16), "P"), ("P",))


def line(hitm: int, cpus: Mapping[str, int], number: int = 0, remote: int = 0) -> dict[str, Any]:
    return {
        "address": hex(0x55D0C0DE4000 + 64 * number),
        **{"hitm": hitm, "local_hitm": hitm - remote, "remote_hitm": remote, "stores": 3},
        "cpus": dict(cpus),
        "symbols": ["contend", "std::atomic<int>::fetch_add"],
    }


def case(mapping: str, *lines: dict[str, Any], **changes: object) -> dict[str, Any]:
    hitm = sum(contended["hitm"] for contended in lines)
    remote = sum(contended["remote_hitm"] for contended in lines)
    named = {
        **{"app": "contention", "build": "libgomp", "size": "integer", "threads": 4},
        **{"mapping": mapping, "schedule": "static", "wait_policy": "passive"},
        "governor": "current",
    }
    sampled = {
        **{"samples": 4 * hitm + 5000, "loads": 2 * hitm + 4000, "stores": 900},
        **{"hitm": hitm, "local_hitm": hitm - remote, "remote_hitm": remote},
    }
    made = {
        "schema": 1,
        "case_id": f"{sum(mapping.encode()):016x}",
        "case": named,
        "started_at": "2026-11-21T18:00:00.000+00:00",
        "sampled": sampled,
        "lines": list(lines),
        "lines_left_out": 0,
        "unavailable": {},
    }
    return made | changes


def put(folder: Path, *cases: dict[str, Any]) -> Path:
    (folder / "c2c").mkdir(exist_ok=True)
    for made in cases:
        (folder / "c2c" / f"{made['case_id']}.json").write_text(json.dumps(made))
    return folder


def read(folder: Path) -> LinesByCase:
    found = read_c2c(folder)
    assert found is not None
    return found


def shown(folder: Path, node: NodeCpus = HYBRID) -> list[tuple[str, ...]]:
    """Return mapping, HITM, its share and the CPUs of each row."""
    tables = [lines_section(group, node).table for group in read(folder).groups()]
    return [(row[0], row[2], row[3], row[7]) for table in tables for row in table.cells]


def test_one_line_between_two_cpus_is_named_with_their_kinds(tmp_path: Path) -> None:
    put(
        tmp_path,
        case("across-kinds", line(980, {"0": 700, "12": 600}), line(20, {"1": 30}, number=1)),
    )
    assert shown(tmp_path) == [
        ("across-kinds", "980", "98 %", "0 (P): 700, 12 (E): 600"),
        ("across-kinds", "20", "2 %", "1 (P): 30"),
    ]
    assert shown(tmp_path, EQUAL)[0] == ("across-kinds", "980", "98 %", "0: 700, 12: 600")


def test_few_samples_and_none_are_noted(tmp_path: Path) -> None:
    spread = [line(5, {str(cpu): 4 for cpu in range(6)}, number=n) for n in range(4)]
    refused = case("pcores", unavailable={"lines": "the program under perf c2c: timeout: 5 s"})
    put(tmp_path, case("unpinned", *spread), case("same-cpu"), refused)
    (group,) = read(tmp_path).groups()
    table = lines_section(group, HYBRID).table
    rows = {row[0].partition(" ")[0]: row[1:4] for row in table.cells[::-1]}
    assert rows == {
        "pcores": ("n/a (a)", "-", "-"),
        # No HITM is a finding.
        "same-cpu": ("-", "0 (b)", "-"),
        "unpinned": ("0x55d0c0de4000", "5", "25 %"),
    }
    assert set(table.notes[-3:]) == {
        ("a", "the program under perf c2c: timeout: 5 s"),
        ("b", "of 4000 sampled loads"),
        ("c", "so few samples tell little of shares"),
    }


def test_a_table_has_the_lines_of_each_case_with_counts_and_code(tmp_path: Path) -> None:
    many = [line(40 - n, {"0": 50, "12": 60}, number=n, remote=n) for n in range(7)]
    many_kinds = {"kinds": "perf has sampled no loads on E (CPUs 12)"}
    put(tmp_path, case("unpinned", *many, lines_left_out=0, unavailable=many_kinds))
    (group,) = read(tmp_path).groups()
    section = lines_section(group, HYBRID)
    assert section.title == (
        "contention (libgomp), size integer, 4 threads, schedule static, wait policy passive, "
        "governor current"
    )
    first, *_, last = section.table.cells
    code = "contend; std::atomic<int>::fetch_add"
    assert first == (
        *("unpinned (a)", "0x55d0c0de4000", "40", "15 %", "40", "0", "3"),
        *("12 (E): 60, 0 (P): 50", code),
    )
    assert (len(section.table.cells), last[1]) == (5, "0x55d0c0de4100 (b)")
    assert dict(section.table.notes)["a"] == many_kinds["kinds"]
    assert dict(section.table.notes)["b"].startswith("2 more lines")
    conclusion = "most contended: unpinned, line 0x55d0c0de4000 (40 HITM samples)"
    assert section.table.notes[0] == ("", conclusion)


def test_groups_are_of_one_size_and_ranks_in_the_order_cases_were_made(tmp_path: Path) -> None:
    made = [case(name, started_at=f"2026-11-21T18:00:0{at}.000+00:00")
            for at, name in enumerate("cbad")]  # fmt: skip
    made[1]["case"]["size"] = "float"
    made[3]["case"]["ranks"] = {"number": 2}
    put(tmp_path, *made)

    groups = read(tmp_path).groups()

    assert [[found.mapping for found in group] for group in groups] == [["c", "a"], ["b"], ["d"]]
    threads = [group[0].title.split(", ")[2] for group in groups]
    assert threads == ["4 threads", "4 threads", "2 ranks of 4 threads"]


def test_cases_under_other_settings_have_a_section_that_names_them(tmp_path: Path) -> None:
    power, turbo = ({"epp": "power"}, {"turbo": "off", "epp": "power"})
    made = [case(name) for name in "abcd"]
    for found, asked in zip(made[1:], (power, power, turbo), strict=True):
        found["case"]["settings"] = asked
    put(tmp_path, *made)

    groups = read(tmp_path).groups()

    assert {
        group[0].title.partition("governor ")[2]: [found.mapping for found in group]
        for group in groups
    } == {
        "current": ["a"],
        "current, EPP power": ["b", "c"],
        "current, EPP power, turbo off": ["d"],
    }


def test_a_node_without_c2c_has_the_reason_and_no_files_none(tmp_path: Path) -> None:
    assert read_c2c(tmp_path) is None
    put(tmp_path)
    assert read_c2c(tmp_path) is None
    reason = {"schema": 1, "unavailable": {"lines": "memory events\nnot supported"}}
    (tmp_path / "c2c/unavailable.json").write_text(json.dumps(reason))
    found = read(tmp_path)
    assert (found.cases, found.unavailable) == ((), "memory events not supported")


def test_what_the_runners_write_is_read(tmp_path: Path) -> None:
    counted = contended_lines(lambda: read_samples(SCRIPT.read_text().splitlines()), 64)
    put(tmp_path, case("unpinned") | counted)
    (found,) = read(tmp_path).cases
    assert (found.hitm, [contended.hitm for contended in found.lines]) == (38, [31, 7])
    assert [row[1:3] for row in shown(tmp_path, EQUAL)] == [("31", "82 %"), ("7", "18 %")]


GOOD = case("unpinned", line(30, {"0": 30, "1": 9}), line(3, {"2": 9}, number=1, remote=1))
FILE = f"c2c/{GOOD['case_id']}.json"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("schema", 2, "schema: expected 1, found '2'"),
        ("case_id", "0" * 16, "case_id"),
        ("case.mapping", ["x"], "case.mapping"),
        ("started_at", 5, "started_at"),
        ("sampled.hitm", 34, "do not add up"),
        ("sampled.loads", True, "sampled.loads: expected a whole number"),
        ("sampled.loads", -1, "sampled.loads: expected a whole number"),
        ("sampled.loads", 1, "do not add up"),
        ("lines", {}, "lines: expected a list"),
        ("lines.0.hitm", 31, "lines[0]: hitm: local and remote HITM do not add up"),
        ("lines.0.address", "7f00", "address"),
        ("lines.1.address", hex(0x55D0C0DE4000), "twice"),
        (
            "lines.0.cpus",
            {"cpu0": 50},
            "lines[0].cpus: expected as a key a whole number from 0 to 65535, found 'cpu0'",
        ),
        ("lines.0.cpus", {"0": 2}, "do not add up"),
        ("lines.0.symbols", "main", "symbols"),
        ("lines_left_out", 9, "does not add up"),
        ("unavailable", None, "unavailable"),
    ],
)
def test_a_file_that_is_wrong_is_passed_over(
    tmp_path: Path, path: str, value: object, reason: str
) -> None:
    assert not read(put(tmp_path, GOOD)).passed_over
    (tmp_path / FILE).write_text(json.dumps(with_value(GOOD, path, value)))

    found = read(tmp_path)

    assert not found.cases
    assert reason in found.passed_over[0]


def test_what_is_no_json_or_not_ours_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, GOOD)
    (tmp_path / "c2c/evil\x1b[31m.json").write_text(json.dumps(GOOD))
    (tmp_path / "c2c/broken.json").write_text("{" * 100_000)
    found = read(tmp_path)
    assert (len(found.cases), len(found.passed_over)) == (1, 2)
    assert all(text.isprintable() for text in found.passed_over)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from([*GOOD, "sampled.hitm", "lines.0"]), value=JSON_VALUES)
def test_any_file_is_read_or_passed_over(tmp_path: Path, path: str, value: object) -> None:
    put(tmp_path)
    (tmp_path / FILE).write_text(json.dumps(with_value(GOOD, path, value)))
    found = read(tmp_path)
    assert len(found.cases) + len(found.passed_over) == 1
    for group in found.groups():
        section = lines_section(group, HYBRID)
        assert all(cell.isprintable() for row in section.table.cells for cell in row)
