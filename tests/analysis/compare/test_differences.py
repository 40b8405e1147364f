"""What differs between two results beside their cases is told, a row each."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from analysis.compare.matching import Unlike
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
    "built_with": "g++ 12.2.0 -O3",
    "program_digest": "a" * 64,
    "epp": "balance_performance",
    "power_limits": {"package-0": {"pl1_w": 125.0}},
    "node_digest": "1" * 64,
}


def made(folder: Path, **changes: Any) -> str:  # noqa: ANN401
    """Write runs of two rows with these fields; return their folder."""
    write(folder, [run for number in (1, 3) for run in runs(number, 10.0, **FIRST | changes)])
    return str(folder)


def differences(a: str, b: str) -> list[Unlike]:
    return list(compare(open_results(a), open_results(b)).all_differences)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kernel": "6.12.1"}, ("kernel", "6.1.0-55-amd64", "6.12.1")),
        ({"microcode": "0x2d"}, ("microcode", "0x2c", "0x2d")),
        ({"versions": {"pinstudy": "0.2.0"}}, ("pinstudy", "0.1.0", "0.2.0")),
        (
            {"runtime": {"name": "libomp", "version": "libomp5 14"}},
            ("OpenMP runtime", "libgomp libgomp1 12.2.0", "libomp libomp5 14"),
        ),
        ({"built_with": "g++ 12.2.0 -O2"}, ("built with", "g++ 12.2.0 -O3", "g++ 12.2.0 -O2")),
        ({"epp": "performance"}, ("EPP", "balance_performance", "performance")),
        (
            {"power_limits": {"package-0": {"pl1_w": 65.0}}},
            ("PL1 of package-0 (W)", "125", "65"),
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_difference_is_one_row(
    tmp_path: Path, changes: dict[str, Any], told: tuple[str, str, str]
) -> None:
    a, b = made(tmp_path / "a"), made(tmp_path / "b", **changes)
    assert differences(a, b) == [Unlike(*told)]
    shown = pinstudy(tmp_path, "compare", a, b, status=0).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith(told[0])]
    assert all(text in line for text in told)
    data = json.loads(pinstudy(tmp_path, "compare", a, b, "--json", status=0).stdout)
    assert [(row["fact"], row["a"], row["b"]) for row in data["differences"]] == [told]


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
    changes = "'libgomp.so.1' was aaaaaaaaaaaa, now bbbbbbbbbbbb: /lib/libgomp.so.1"
    assert differences(a, b) == [Unlike("program", "aaaaaaaaaaaa", "bbbbbbbbbbbb", changes)]


def test_facts_of_nodes_are_told(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a"), made(tmp_path / "b", node_digest="2" * 64)
    for folder, digest, turbo in ((a, "1" * 64, True), (b, "2" * 64, False)):
        (Path(folder) / "nodes").mkdir()
        facts = {"cpu_model": f"CPU {digest[0]}", "cpufreq": {"turbo": turbo}, "smt": "on"}
        (Path(folder) / "nodes" / f"{digest}.json").write_text(json.dumps(facts))
    assert differences(a, b) == [
        Unlike("processor", "CPU 1", "CPU 2"),
        Unlike("turbo", "on", "off"),
    ]


def test_files_and_records_from_anybody_are_told_on_one_line(tmp_path: Path) -> None:
    hostile = {"kernel": "a\nb", "versions": {"x\ny": "1"}, "runtime": 7, "built_with": ["x"]}
    a, b = made(tmp_path / "a", versions={"x\ny": "2"}), made(tmp_path / "b", **hostile)
    told = differences(a, b)
    assert len(told) == 2
    assert not any("\n" in text for unlike in told for text in astuple(unlike))
