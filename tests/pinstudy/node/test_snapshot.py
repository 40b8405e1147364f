"""`pinstudy snapshot` as a user meets it."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from tests.support.cli import pinstudy
from tests.support.trees import build_tree


def test_the_commands_it_ends_with_plan_for_that_node(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "ptl-h")
    done = pinstudy(tmp_path, "snapshot", "my node.tar.gz", "--sysroot", str(root), status=0)
    unpack, plan = (line.strip() for line in done.stdout.splitlines()[-2:])
    assert subprocess.run(["sh", "-c", unpack], cwd=tmp_path, check=False).returncode == 0
    planned = pinstudy(tmp_path, *shlex.split(plan)[1:], status=0)
    assert "ecores-set" in planned.stdout
    topology = pinstudy(tmp_path, "topology", "--json", "--sysroot", "my node/node")
    assert {kind["name"]: kind["cpus"] for kind in json.loads(topology.stdout)["kinds"]} == {
        "P": "0-1",
        "E": "2-5",
        "LP-E": "6-9",
    }


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    root = str(build_tree(tmp_path, "kvm-guest"))
    file = tmp_path / "node.tar.gz"
    file.write_text("mine")
    refused = pinstudy(tmp_path, "snapshot", "node.tar.gz", "--sysroot", root, status=2)
    assert "--force" in refused.stderr
    assert file.read_text() == "mine"
    pinstudy(tmp_path, "snapshot", "node.tar.gz", "--sysroot", root, "--force", status=0)
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kvm-guest", "node.tar.gz"]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    root = str(build_tree(tmp_path, "kvm-guest"))
    done = pinstudy(tmp_path, "snapshot", "file/node.tar.gz", "--sysroot", root)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1
