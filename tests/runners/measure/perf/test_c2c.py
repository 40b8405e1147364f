"""`perf c2c` as it is installed here: what it refuses, and what it makes of a recording."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runners.measure.perf.c2c import (
    NEEDS,
    kinds_sampled,
    line_bytes,
    read_recording,
    try_c2c,
)
from runners.node.topology import CoreKind
from tests.runners.c2c_recordings import Access, put_accesses, record_faults
from tests.runners.fake_commands import install
from tests.support.tools import ROOT, need_tool
from tests.support.trees import build_tree, write

REFUSED = ROOT / "tests" / "data" / "c2c" / "refused-guest.txt"
DENIED = REFUSED.with_name("refused-permission.txt")
LOCAL, REMOTE, L1, STORE, NOTHING = (
    *(0x629800842, 0x2000000000 | 0x600000000 | 0x800000 | 0x8042),
    *(0x1026A100142, 0x229080144, 0x1E05080021),
)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The real perf, and a recording of its with room for accesses."""
    perf = need_tool("perf")
    return perf, record_faults(perf, tmp_path_factory.mktemp("c2c"), 100)


def guest(tmp_path: Path, paranoid: int = 2, capabilities: str = "000001ffffffffff") -> Path:
    root = build_tree(tmp_path, "kvm-guest")
    write(root, "proc/sys/kernel/perf_event_paranoid", paranoid)
    write(root, "proc/self/status", f"CapEff:\t{capabilities}")
    return root


accesses = st.lists(
    st.builds(
        Access,
        cpu=st.integers(0, max(0, (os.cpu_count() or 1) - 1)),
        address=st.integers(0x7F0000001000, 0x7F0000001000 + 64 * 6),
        source=st.sampled_from([LOCAL, LOCAL, REMOTE, L1, STORE, NOTHING]),
    ),
    min_size=1,
    max_size=100,
)


# Each example is two runs of perf.
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(accesses)
def test_a_recording_gives_the_hitm_that_perfs_own_report_gives(
    faults: tuple[str, Path], put: list[Access]
) -> None:
    perf, empty = faults
    recording = put_accesses(empty, put, empty.with_name("put.data"))
    found = read_recording(perf, recording, 64)
    if all(access.source in (STORE, NOTHING) for access in put):
        assert isinstance(found, str) and "no load" in found
        return
    assert isinstance(found, dict), found
    command = [perf, "c2c", "report", "--stdio", "--no-source", "-i", str(recording)]
    report = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C"}
    ).stdout
    for name, label in (("local_hitm", "Load Local HITM"), ("remote_hitm", "Load Remote HITM")):
        said = re.search(rf"^ +{label} +: +(\d+)$", report, re.MULTILINE)
        assert said and found["sampled"][name] == int(said[1])
    by_line: Counter[str] = Counter()
    for row in re.finditer(
        r"^ +\d+ +(0x[0-9a-f]+) +\S+ +\d+ +[0-9.]+% +(\d+) ", report, re.MULTILINE
    ):
        by_line[row[1]] += int(row[2])
    assert {line["address"]: line["hitm"] for line in found["lines"]} == by_line
    assert found["events"] == ["page-faults"]
    for line in found["lines"]:
        of_line = [
            access.cpu
            for access in put
            if access.address // 64 == int(line["address"], 16) // 64 and access.source != NOTHING
        ]
        assert line["cpus"] == {str(cpu): n for cpu, n in sorted(Counter(of_line).items())}


def test_a_recording_that_perf_could_not_end_gives_a_reason(
    faults: tuple[str, Path], tmp_path: Path
) -> None:
    perf, empty = faults
    whole = empty.read_bytes()
    torn = tmp_path / "torn.data"
    for data, reason in (
        (b"", "could not end"),
        (whole[:40], "could not end"),
        (whole[:48] + bytes(8) + whole[56:], "could not end"),
        (b"\1" * 200, "perf script: "),
    ):
        torn.write_bytes(data)
        found = read_recording(perf, torn, 64)
        assert isinstance(found, str) and reason in found
    found = read_recording(perf, tmp_path / "never.data", 64)
    assert found == "perf has left no recording (No such file or directory)"


def test_this_machines_perf_records_or_says_why_not() -> None:
    perf = need_tool("perf")
    trial = try_c2c(perf, Path("/"))
    refused = subprocess.run(
        [perf, "c2c", "record", "-o", os.devnull, "--", "true"], capture_output=True, check=False
    )
    if refused.returncode:
        assert isinstance(trial, str)
    if REFUSED.read_bytes() in refused.stderr:
        assert "memory events not supported" in trial


def test_a_refusal_is_told_in_perfs_words_and_ours(tmp_path: Path) -> None:
    install(tmp_path, "perf", f"cat '{REFUSED}' >&2; exit 255")
    root, user = guest(tmp_path), guest(tmp_path / "user", paranoid=2, capabilities="0")
    assert try_c2c(str(tmp_path / "perf"), root) == (
        "perf c2c record: memory events not supported (no hardware PMU in this virtual machine)"
    )
    assert "CAP_PERFMON" not in try_c2c(str(tmp_path / "perf"), user)
    install(tmp_path, "perf", f"cat '{DENIED}' >&2; exit 255")
    denied = try_c2c(str(tmp_path / "perf"), user)
    assert isinstance(denied, str)
    assert denied.startswith(f"{NEEDS} (Error: Access to performance monitoring")
    assert "No such file" in try_c2c(str(tmp_path / "none"), root)


def test_where_the_cpu_cannot_leave_the_kernel_out_it_is_sampled_too(tmp_path: Path) -> None:
    install(tmp_path, "perf", '[ "$3" != -u ] || { echo "failed: no -u" >&2; exit 255; }')
    assert try_c2c(str(tmp_path / "perf"), guest(tmp_path)) == ()
    install(tmp_path, "perf", "exit 0")
    assert try_c2c(str(tmp_path / "perf"), guest(tmp_path)) == ("-u",)


@pytest.mark.parametrize(
    ("cpuinfo", "reason"),
    [
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "peer snoop"),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 33\n", "Zen 3"),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 97\n", ""),
        ("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 33\n", ""),
    ],
)
def test_a_cpu_whose_samples_do_not_tell_is_not_asked(
    tmp_path: Path, cpuinfo: str, reason: str
) -> None:
    install(tmp_path, "perf", "exit 0")
    root = guest(tmp_path)
    (root / "proc/cpuinfo").write_text(cpuinfo)
    found = try_c2c(str(tmp_path / "perf"), root)
    problem = found if isinstance(found, str) else ""
    assert reason in problem and bool(problem) == bool(reason)


def test_kinds_are_sampled_by_the_events_of_their_pmus() -> None:
    kinds = (CoreKind("P", (0, 1), ""), CoreKind("E", (2, 3), ""), CoreKind("LP-E", (4,), ""))
    hybrid = {"cpu_core": (0, 1), "cpu_atom": (2, 3, 4)}
    p_loads, p_stores = "cpu_core/mem-loads,ldlat=30/P", "cpu_core/mem-stores/P"
    e_loads, e_stores = "cpu_atom/mem-loads,ldlat=30/P", "cpu_atom/mem-stores/P"
    every = ("P", "E", "LP-E")
    assert kinds_sampled([p_loads, e_loads, p_stores, e_stores, "dummy:u"], hybrid, kinds) == every
    assert kinds_sampled([p_loads, p_stores, e_stores], hybrid, kinds) == ("P",)
    assert kinds_sampled(["cpu/mem-loads,ldlat=30/P"], {"cpu": None}, kinds) == every
    assert kinds_sampled(["ibs_op//"], hybrid, kinds) == every
    assert kinds_sampled(["page-faults"], hybrid, kinds) is None
    assert kinds_sampled(["page-faults"], {}, kinds[:1]) == ("P",)


def test_a_line_has_the_bytes_that_the_kernel_says(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    assert line_bytes(root) == 64
    write(root, "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", 128)
    assert line_bytes(root) == 128
    write(root, "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", 0)
    assert line_bytes(root) == 64
