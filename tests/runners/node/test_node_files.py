"""A node's picture, drawn by hwloc."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.node.node_files import save_picture
from tests.runners.fake_commands import install
from tests.support.tools import need_tool


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
