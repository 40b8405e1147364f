"""What differs between two results beside their cases is told, a line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.compare.side_by_side import compare
from analysis.results.sources import open_results
from tests.analysis.compare.test_side_by_side import runs
from tests.support.cli import pinstudy
from tests.support.results import write

FIRST: dict[str, Any] = {
    "kernel": "6.1.0-55-amd64",
    "microcode": "0x2c",
    "versions": {"pinstudy": "0.1.0", "perf": "6.1.55"},
    "runtime": {"name": "libgomp", "version": "libgomp1 12.2.0", "path": "/lib/libgomp.so.1"},
    "build": "g++ 12.2.0 -O3",
    "program_digest": "a" * 64,
    "epp": "balance_performance",
    "power_limits": {"package-0": {"pl1_w": 125.0}},
    "node_digest": "1" * 64,
}


def made(folder: Path, **changes: Any) -> str:  # noqa: ANN401
    """Write runs of two rows with these fields; return their folder."""
    write(folder, [run for number in (1, 3) for run in runs(number, 10.0, **FIRST | changes)])
    return str(folder)


def differences(a: str, b: str) -> list[str]:
    return compare(open_results(a), open_results(b)).all_differences


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kernel": "6.12.1"}, "kernel: A 6.1.0-55-amd64, B 6.12.1"),
        ({"microcode": "0x2d"}, "microcode: A 0x2c, B 0x2d"),
        ({"versions": {"pinstudy": "0.2.0"}}, "pinstudy: A 0.1.0, B 0.2.0"),
        (
            {"runtime": {"name": "libomp", "version": "libomp5 14"}},
            "OpenMP runtime: A libgomp libgomp1 12.2.0, B libomp libomp5 14",
        ),
        ({"build": "g++ 12.2.0 -O2"}, "build: A g++ 12.2.0 -O3, B g++ 12.2.0 -O2"),
        ({"epp": "performance"}, "EPP: A balance_performance, B performance"),
        (
            {"power_limits": {"package-0": {"pl1_w": 65.0}}},
            "PL1 of package-0 (W): A 125, B 65",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_difference_is_one_line(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    a, b = made(tmp_path / "a"), made(tmp_path / "b", **changes)
    assert differences(a, b) == [told]
    assert told in pinstudy(tmp_path, "compare", a, b, status=0).stdout
    shown = json.loads(pinstudy(tmp_path, "compare", a, b, "--json", status=0).stdout)
    assert shown["differences"] == [told]


def test_the_same_programs_on_the_same_node_differ_in_nothing(tmp_path: Path) -> None:
    assert differences(made(tmp_path / "a"), made(tmp_path / "b")) == []


def test_what_one_of_two_does_not_tell_is_no_difference(tmp_path: Path) -> None:
    nothing = dict.fromkeys(FIRST)
    assert differences(made(tmp_path / "a"), made(tmp_path / "b", **nothing)) == []


def test_other_programs_are_told_by_their_files(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a"), made(tmp_path / "b", program_digest="b" * 64)
    for folder, digest in ((a, "a" * 64), (b, "b" * 64)):
        (Path(folder) / "programs").mkdir()
        files = {"libgomp.so.1": {"path": "/lib/libgomp.so.1", "sha256": digest}}
        kept = Path(folder) / "programs" / f"{digest}.json"
        kept.write_text(json.dumps({"files": files}))
    assert differences(a, b) == [
        "program: A aaaaaaaaaaaa, B bbbbbbbbbbbb; from A to B: 'libgomp.so.1' was aaaaaaaaaaaa, "
        "now bbbbbbbbbbbb: /lib/libgomp.so.1"
    ]


def test_facts_of_nodes_are_told(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a"), made(tmp_path / "b", node_digest="2" * 64)
    for folder, digest, turbo in ((a, "1" * 64, True), (b, "2" * 64, False)):
        (Path(folder) / "nodes").mkdir()
        facts = {"cpu_model": f"CPU {digest[0]}", "cpufreq": {"turbo": turbo}, "smt": "on"}
        (Path(folder) / "nodes" / f"{digest}.json").write_text(json.dumps(facts))
    assert differences(a, b) == ["processor: A CPU 1, B CPU 2", "turbo: A on, B off"]


def test_files_and_records_from_anybody_are_told_on_one_line(tmp_path: Path) -> None:
    hostile = {"kernel": "a\nb", "versions": {"x\ny": "1"}, "runtime": 7, "build": ["x"]}
    a, b = made(tmp_path / "a", versions={"x\ny": "2"}), made(tmp_path / "b", **hostile)
    told = differences(a, b)
    assert len(told) == 2 and not any("\n" in line for line in told)
