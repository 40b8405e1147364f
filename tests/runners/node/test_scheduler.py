"""Which scheduler placed the threads of a run, from the files of sched_ext and of EAS."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.reading import Reading
from runners.node.node import open_node, read_state
from tests.support.trees import build_tree, write

ENERGY_AWARE = "proc/sys/kernel/sched_energy_aware"
STATE = "sys/kernel/sched_ext/state"
NAME = "sys/kernel/sched_ext/root/ops"
FIELDS = ("sched_energy_aware", "sched_ext", "sched_ext_scheduler")


def state(folder: Path, **files: str) -> Reading:
    root = build_tree(folder, "i9-14900k-noht")
    paths = {"energy_aware": ENERGY_AWARE, "state": STATE, "name": NAME}
    for name, text in files.items():
        write(root, paths[name], text)
    return read_state(open_node(root), (0, 8))


def test_a_run_has_the_scheduler_that_placed_its_threads(tmp_path: Path) -> None:
    found = state(tmp_path, energy_aware="1", state="enabled", name="lavd_1.0.19_x86_64")
    assert [found.fields[name] for name in FIELDS] == ["on", "enabled", "lavd_1.0.19_x86_64"]


@pytest.mark.parametrize(("text", "means"), [("1", "on"), ("0", "off"), ("", "impossible")])
def test_an_empty_file_means_that_energy_aware_scheduling_is_impossible(
    tmp_path: Path, text: str, means: str
) -> None:
    assert state(tmp_path, energy_aware=text).fields["sched_energy_aware"] == means


def test_sched_ext_without_a_scheduler_has_none(tmp_path: Path) -> None:
    found = state(tmp_path, state="disabled")
    assert (found.fields["sched_ext"], found.fields["sched_ext_scheduler"]) == ("disabled", "none")


def test_a_kernel_without_these_files_has_reasons(tmp_path: Path) -> None:
    found = state(tmp_path)
    assert [found.unavailable[name] for name in FIELDS] == [
        "/proc/sys/kernel/sched_energy_aware is missing",
        "/sys/kernel/sched_ext/state is missing",
        "/sys/kernel/sched_ext/root/ops is missing",
    ]


@pytest.mark.parametrize("name", ["lavd\x1b[31m", "two words", "a" * 128, "<b>"])
def test_a_name_that_the_kernel_would_refuse_is_none(tmp_path: Path, name: str) -> None:
    found = state(tmp_path, state="enabled", name=name, energy_aware="2")
    assert found.unavailable["sched_ext_scheduler"] == f"/{NAME} holds no single word"
    assert found.unavailable["sched_energy_aware"] == (
        f"/{ENERGY_AWARE} holds neither 0 nor 1 and is not empty"
    )
