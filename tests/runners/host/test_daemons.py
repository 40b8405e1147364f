"""Daemons that interfere are found by name, and the warning says how to stop them."""

from __future__ import annotations

from pathlib import Path

from runners.host.interference import daemon_warning, find_daemons, stop_commands
from runners.host.tree import Tree, Unavailable
from tests.runners.proc_trees import process


def test_names_that_the_kernel_cuts_are_known(tmp_path: Path) -> None:
    process(tmp_path, 30, "thermald")
    process(tmp_path, 31, "power-profiles-daemon")
    process(tmp_path, 32, "bash")
    process(tmp_path, 33, "thermald")
    assert find_daemons(Tree(tmp_path)) == ["power-profiles-daemon", "thermald"]


def test_the_daemons_that_are_known_to_interfere_on_hybrid_nodes_are_found(tmp_path: Path) -> None:
    names = ("gamemoded", "intel_lpmd", "irqbalance", "thermald", "tlp-pd", "tuned", "tuned-ppd")
    for pid, name in enumerate(names, 50):
        process(tmp_path, pid, name)
    assert find_daemons(Tree(tmp_path)) == list(names)


def test_similar_names_are_others(tmp_path: Path) -> None:
    process(tmp_path, 1, "systemd")
    for pid, command in enumerate(("tuned-gui", "xtuned", "tune", "power-profilesd"), 40):
        process(tmp_path, pid, command)
    assert find_daemons(Tree(tmp_path)) == []


def test_a_process_that_vanishes_and_garbage_are_passed_over(tmp_path: Path) -> None:
    process(tmp_path, 30, "tuned")
    (tmp_path / "proc/31").mkdir()
    (tmp_path / "proc/32").mkdir()
    (tmp_path / "proc/32/stat").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "proc/sys").mkdir()
    assert find_daemons(Tree(tmp_path)) == ["tuned"]


def test_a_node_without_proc_is_not_called_quiet(tmp_path: Path) -> None:
    assert isinstance(find_daemons(Tree(tmp_path)), Unavailable)


def test_a_node_that_hides_the_processes_of_others_is_not_called_quiet(tmp_path: Path) -> None:
    process(tmp_path, 4711, "pinstudy")
    hidden = find_daemons(Tree(tmp_path))
    assert hidden == Unavailable("/proc hides other users' processes (hidepid)")
    process(tmp_path, 4712, "gamemoded")
    assert find_daemons(Tree(tmp_path)) == ["gamemoded"]


def test_the_warning_is_one_line_that_ends_with_the_command() -> None:
    warning = daemon_warning(["irqbalance", "thermald"])
    assert warning is not None
    assert "\n" not in warning
    assert "irqbalance, thermald run" in warning
    assert warning.endswith(" sudo systemctl stop irqbalance thermald")


def test_a_users_own_service_and_a_unit_of_another_name() -> None:
    assert stop_commands(["gamemoded", "system76-power"]) == (
        "sudo systemctl stop com.system76.PowerDaemon && systemctl --user stop gamemoded"
    )


def test_a_quiet_node_is_not_warned_about() -> None:
    assert daemon_warning([]) is None
