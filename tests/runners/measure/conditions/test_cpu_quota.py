"""Time that a container's or a job's CPU quota took is told, and its absence has a reason."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Reading
from runners.host.tree import Tree
from runners.measure.conditions.throttling import QuotaMeter
from tests.support.trees import write

GROUPS = "sys/fs/cgroup"
V2 = "usage_usec 9\nnr_periods 4\nnr_throttled 2\nthrottled_usec {}\nnr_bursts 0"
V1 = "nr_periods 4\nnr_throttled 2\nthrottled_time {}"


def around(root: Path, group: str, before: dict[str, str], after: dict[str, str]) -> Reading:
    write(root, "proc/self/cgroup", group)
    for path, text in before.items():
        write(root, f"{GROUPS}/{path}", text)
    meter = QuotaMeter(Tree(root))
    meter.start()
    for path, text in after.items():
        write(root, f"{GROUPS}/{path}", text)
    meter.stop()
    return meter.reading()


@pytest.mark.parametrize(
    ("group", "stat", "before", "after"),
    [
        ("0::/job/step", ("job/step/cpu.stat", V2), 1_000_000, 1_250_000),
        # The quota may be of a group above, or of a container, whose root is the host's group.
        ("0::/job/step", ("job/cpu.stat", V2), 0, 250_000),
        ("0::/", ("cpu.stat", V2), 0, 250_000),
        ("5:cpu,cpuacct:/job\n0::/", ("cpu,cpuacct/job/cpu.stat", V1), 0, 250_000_000),
        ("1:cpu:/", ("cpu/cpu.stat", V1), 0, 250_000_000),
    ],
)
def test_what_a_quota_took_is_told_in_seconds(
    tmp_path: Path, group: str, stat: tuple[str, str], before: int, after: int
) -> None:
    path, text = stat
    found = around(tmp_path, group, {path: text.format(before)}, {path: text.format(after)})
    assert found == Reading({"quota_throttled_s": 0.25})


def test_the_longest_of_all_levels_counts_and_a_quiet_one_is_a_measured_zero(
    tmp_path: Path,
) -> None:
    files = {"a/b/cpu.stat": V2.format(7), "a/cpu.stat": V2.format(7)}
    assert around(tmp_path, "0::/a/b", files, {}).fields == {"quota_throttled_s": 0.0}
    later = {"a/b/cpu.stat": V2.format(8), "a/cpu.stat": V2.format(1007)}
    assert around(tmp_path, "0::/a/b", files, later).fields == {"quota_throttled_s": 0.001}


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/", {"cpu.stat": "usage_usec 9"}),
        ("0::/../../elsewhere", {}),
        ("", {}),
        ("4:memory:/x", {"cpu.stat": V2.format(1)}),
    ],
)
def test_a_group_that_counts_nothing_is_a_reason(
    tmp_path: Path, group: str, files: dict[str, str]
) -> None:
    found = around(tmp_path, group, files, files)
    assert found.fields == {}
    assert "/proc/self/cgroup" in found.unavailable["quota_throttled_s"]


def test_time_that_goes_back_is_no_time(tmp_path: Path) -> None:
    stat = "cpu.stat"
    found = around(tmp_path, "0::/", {stat: V2.format(9)}, {stat: V2.format(8)})
    assert found.unavailable == {
        "quota_throttled_s": "the control groups' throttled time went back"
    }


@given(group=st.text(max_size=80), stat=st.text(max_size=80))
def test_any_text_is_survived(group: str, stat: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in (("proc/self/cgroup", group), (f"{GROUPS}/cpu.stat", stat)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode("utf-8", "surrogatepass"))
        meter = QuotaMeter(Tree(root))
        meter.start()
        meter.stop()
        found = meter.reading()
        assert found.fields == {"quota_throttled_s": 0.0} or found.unavailable
