"""The picture of the node that is kept beside the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.node.kept_nodes import keep_picture
from tests.runners.fake_commands import install
from tests.support.tools import need_tool


def test_hwloc_draws_this_machine_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tool("lstopo-no-graphics")
    monkeypatch.setenv("HWLOC_SYNTHETIC", "pack:7 core:1 pu:1")

    assert keep_picture(tmp_path / "nodes" / "n.lstopo.svg") == {}

    drawn = (tmp_path / "nodes" / "n.lstopo.svg").read_text()
    assert "</svg>" in drawn
    assert "Package L#6" not in drawn


def test_a_picture_is_drawn_once(tmp_path: Path, commands: Path) -> None:
    install(commands, "lstopo-no-graphics", f"echo once >>{tmp_path}/calls; echo '<svg></svg>'")

    for _ in range(2):
        assert keep_picture(tmp_path / "n.lstopo.svg") == {}

    assert (tmp_path / "calls").read_text() == "once\n"


def test_a_node_without_hwloc_says_so(tmp_path: Path, commands: Path) -> None:
    assert not list(commands.iterdir())

    assert keep_picture(tmp_path / "n.lstopo.svg") == {"picture": "lstopo is not installed"}
    assert not (tmp_path / "n.lstopo.svg").exists()


@pytest.mark.parametrize("script", ["exit 1", "echo no picture"])
def test_an_lstopo_that_draws_nothing_leaves_a_reason(
    tmp_path: Path, commands: Path, script: str
) -> None:
    install(commands, "lstopo-no-graphics", script)

    why = keep_picture(tmp_path / "n.lstopo.svg")["picture"]

    assert why.endswith("drew nothing")
    assert not (tmp_path / "n.lstopo.svg").exists()
