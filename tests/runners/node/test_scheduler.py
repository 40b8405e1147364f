"""Which scheduler placed the threads of a run, from the files of sched_ext and of EAS."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.reading import Reading
from runners.node.node import open_node, read_state, state_changes
from tests.support.trees import build_tree, write

ENERGY_AWARE = "proc/sys/kernel/sched_energy_aware"
STATE = "sys/kernel/sched_ext/state"
NAME = "sys/kernel/sched_ext/root/ops"
LOADED = "sys/kernel/sched_ext/enable_seq"
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
        "/sys/kernel/sched_ext/state is missing",
    ]


@pytest.mark.parametrize("name", ["lavd\x1b[31m", "two words", "a" * 128, "<b>"])
def test_a_name_that_the_kernel_would_refuse_is_none(tmp_path: Path, name: str) -> None:
    found = state(tmp_path, state="enabled", name=name, energy_aware="2")
    assert found.unavailable["sched_ext_scheduler"] == f"/{NAME} holds no single word"
    assert found.unavailable["sched_energy_aware"] == (
        f"/{ENERGY_AWARE} holds neither 0 nor 1 and is not empty"
    )


@pytest.mark.parametrize(
    ("path", "text", "means"),
    [
        ("proc/sys/kernel/sched_itmt_enabled", "1", "on"),
        ("proc/sys/kernel/sched_itmt_enabled", "0", "off"),
        ("sys/kernel/debug/x86/sched_itmt_enabled", "Y", "on"),
        ("sys/kernel/debug/x86/sched_itmt_enabled", "N", "off"),
    ],
)
def test_old_and_new_kernels_say_whether_they_prefer_faster_cores(
    tmp_path: Path, path: str, text: str, means: str
) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    write(root, path, text)
    node = open_node(root)
    assert read_state(node, (0, 8)).fields["sched_itmt"] == means
    assert node.facts["itmt_enabled"] == int(means == "on")


def test_a_scheduler_that_was_loaded_anew_within_a_run_shows(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    for path, text in ((STATE, "enabled"), (NAME, "lavd_1.0"), (LOADED, "3")):
        write(root, path, text)
    before = read_state(open_node(root), (0, 8)).fields
    write(root, LOADED, "4")
    after = read_state(open_node(root), (0, 8)).fields
    assert state_changes(before, after) == ("sched_ext_loaded was 3 before the run and 4 after it")
