"""A node's file, and its picture, drawn by hwloc."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import to_builtins

from base.decoding import decoded
from runners.node.node import open_node
from runners.node.node_files import save_node, save_picture
from runners.records.node_file import NodeFile
from tests.runners.fake_commands import install
from tests.support.machines import MACHINES
from tests.support.tools import need_tool
from tests.support.trees import build_tree


def test_hwloc_draws_this_machine_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tool("lstopo-no-graphics")
    monkeypatch.setenv("HWLOC_SYNTHETIC", "pack:7 core:1 pu:1")
    assert save_picture(tmp_path / "nodes" / "n.lstopo.svg") == {}
    drawn = (tmp_path / "nodes" / "n.lstopo.svg").read_text()
    assert "</svg>" in drawn
    assert "Package L#6" not in drawn


def test_a_picture_is_drawn_once(tmp_path: Path, commands: Path) -> None:
    install(commands, "lstopo-no-graphics", f"echo once >>{tmp_path}/calls; echo '<svg></svg>'")
    for _ in range(2):
        assert save_picture(tmp_path / "n.lstopo.svg") == {}
    assert (tmp_path / "calls").read_text() == "once\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("", "lstopo is not installed"),
        ("exit 1", "drew nothing"),
        ("echo no picture", "drew nothing"),
    ],
)
def test_an_lstopo_that_is_not_there_or_draws_nothing_leaves_a_reason(
    tmp_path: Path, commands: Path, script: str, reason: str
) -> None:
    if script:
        install(commands, "lstopo-no-graphics", script)
    assert save_picture(tmp_path / "n.lstopo.svg")["picture"].endswith(reason)
    assert not (tmp_path / "n.lstopo.svg").exists()


@pytest.mark.parametrize("machine", [*MACHINES, "adl0", "mtl-m-2"])
@pytest.mark.usefixtures("commands")
def test_what_is_written_of_a_node_is_what_readers_declare(tmp_path: Path, machine: str) -> None:
    node = open_node(build_tree(tmp_path, machine))
    save_node(tmp_path / "results", node)

    file = decoded((tmp_path / "results/nodes" / f"{node.digest}.json").read_bytes(), NodeFile)

    assert to_builtins(file.topology) == node.facts["topology"]
    for name in ("cpu_model", "kernel", "memory_bytes", "itmt_enabled", "smt", "boot_options"):
        assert getattr(file, name) == node.facts.get(name), name
    for name in ("mode", "turbo"):
        assert getattr(file.cpufreq, name) == node.facts["cpufreq"].get(name), name
    for name in ("drivers", "governors", "highest_khz"):
        assert getattr(file.cpufreq, name) == node.facts["cpufreq"].get(name, {}), name
    assert len(file.power_limits) == len(node.facts.get("power_limits", []))
