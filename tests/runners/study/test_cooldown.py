"""A gated study: every run waits, every record says so, a second attempt keeps the first's aim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from configs.study import Study, TemperatureGate
from runners.node.node import Node, open_node
from tests.runners.sensor_trees import hwmon
from tests.runners.study.made_node import Quiet
from tests.runners.study.test_energy import records, run, study_of


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """This machine's CPUs, with a package of 45 °C and the processes of a tree."""
    root = tmp_path / "node"
    hwmon(root, 3, "coretemp", {"Package id 0": 45000})
    return Node(root, open_node(Path("/")).topology)


def heat(node: Node, millidegrees: int) -> None:
    hwmon(node.root, 3, "coretemp", {"Package id 0": millidegrees})


def gated(folder: Path) -> Study:
    return study_of(folder, "true", idle_power=None, temperature_gate=TemperatureGate(5.0, 0.2))


class StopsAfterOne(Quiet):
    """A user who stops the study when its first run is recorded."""

    def finished(self, record: Mapping[str, Any]) -> None:
        raise KeyboardInterrupt(record["run_id"])


class StopsWaiting(Quiet):
    """A user who does not want to wait."""

    def waiting(self, reason: str) -> None:
        raise KeyboardInterrupt(reason)


def stopped(study: Study, node: Node, folder: Path, progress: Quiet) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(study, node, folder, progress)


def test_a_cool_study_runs_without_waiting(tmp_path: Path, node: Node) -> None:
    progress = Quiet()
    run(gated(tmp_path), node, tmp_path, progress)
    made = records(tmp_path, "ok")
    assert len(made) == 2
    for record in made:
        assert record["gate_reached"] is True
        assert 0 <= record["gate_wait_s"] < 2
        assert record["temperature_reference_c"] == {"package 0": 45.0}
        assert record["temperature_before_c"] == {"package 0": 45.0}
    assert progress.waits == []


def test_a_continued_study_waits_for_the_first_attempts_temperature(
    tmp_path: Path, node: Node
) -> None:
    study = gated(tmp_path)
    stopped(study, node, tmp_path, StopsAfterOne())
    heat(node, 80000)
    progress = Quiet()
    run(study, node, tmp_path, progress)
    first, second = records(tmp_path, "ok")
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert second["temperature_reference_c"] == first["temperature_reference_c"]
    assert second["gate_reached"] is False
    assert 0.2 <= second["gate_wait_s"] < 5
    assert progress.waits == ["waiting 0.2 s at most for package 0 to cool from 80 to 50 °C"]


def test_ctrl_c_while_waiting_records_nothing_and_loses_nothing(tmp_path: Path, node: Node) -> None:
    study = gated(tmp_path)
    stopped(study, node, tmp_path, StopsAfterOne())
    heat(node, 80000)
    stopped(study, node, tmp_path, StopsWaiting())
    assert [record["status"] for record in records(tmp_path)] == ["ok"]
    heat(node, 45000)
    run(study, node, tmp_path)
    assert [record["status"] for record in records(tmp_path)] == ["ok", "ok"]


def test_a_study_without_a_gate_has_no_word_of_it(tmp_path: Path, node: Node) -> None:
    run(study_of(tmp_path, "true", idle_power=None), node, tmp_path)
    for record in records(tmp_path, "ok"):
        assert not {name for name in (*record, *record["unavailable"]) if "gate" in name}
