"""From run to record: energy is kept beside idle power, and packages cool before each run."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pinstudy.base.cpulist import format_cpulist
from pinstudy.configs.app import App, Build
from pinstudy.configs.settings import SettingFactors
from pinstudy.configs.study import AppChoice, IdlePower, PowerGate, Study, TemperatureGate
from pinstudy.runners.execution.collectors import Collectors, LocalEngine
from pinstudy.runners.measure.conditions.surroundings import ClockWatch
from pinstudy.runners.node.node import Node, open_node
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import build_launch
from pinstudy.runners.plan.plan import Plan, make_plan
from pinstudy.runners.records.race_state import OVERHEAD_S
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.study.agenda import agenda_of
from pinstudy.runners.study.history import read_history
from pinstudy.runners.study.machine import WHOLE_STUDY
from pinstudy.runners.study.runner import Runner
from tests.runners import cases
from tests.runners.meter_trees import ina226
from tests.runners.power_pmu_trees import add_core_pmu, core_row, install_perf
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree, zone_folder
from tests.runners.sensor_trees import hwmon
from tests.runners.study.made_node import MadeNode, Quiet, origin_of
from tests.support.held import WORK_UNTIL_LOOKED_AT, looks_counted
from tests.support.programs import witness
from tests.support.studies import write_program
from tests.support.trees import write
from tests.support.wait import HANG_S, until

STEP_S, STEP_UJ = 0.005, 100_000  # 20 W
# Works until energy was drawn: on a busy node a nap may be over before.
DRAW = "read b <COUNTER; a=$b; while [ $a = $b ]; do read a <COUNTER; done"
PLAIN = Build("plain", "", "none")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """This machine's CPUs, with a package that draws 20 W whatever happens."""
    root = powercap_tree(tmp_path / "node", INTEL_CLIENT)
    counter = counter_of(root)
    ended = threading.Event()

    def draw() -> None:
        energy_uj = 1_000_000
        while not ended.wait(STEP_S):
            energy_uj += STEP_UJ
            counter.with_suffix(".new").write_text(f"{energy_uj}\n")
            counter.with_suffix(".new").replace(counter)

    thread = threading.Thread(target=draw)
    thread.start()
    yield Node(root, open_node(Path("/")).topology)
    ended.set()
    thread.join()


def counter_of(root: Path) -> Path:
    return zone_folder(root, "intel-rapl:0") / "energy_uj"


def idle(seconds: float, counter: Path) -> None:
    """Sleep, and on until energy was drawn: a busy node may let nothing be drawn for so long."""
    before = counter.read_text()
    time.sleep(seconds)
    until(lambda: counter.read_text() != before, what="energy is drawn")


def study_of(folder: Path, script: str, limit_s: float = 10.0, **changes: Any) -> Study:  # noqa: ANN401
    text = f"#!/bin/sh\n{script}\n".replace("COUNTER", str(counter_of(folder / "node")))
    program = write_program(folder / "program.sh", text)
    build = replace(PLAIN, program=str(program))
    app = App(
        name="script",
        title="a script",
        builds={"plain": build},
        sizes={"small": cases.SMALL},
        arguments=(),
        check=replace(cases.DEMO.check, failed_status=3),
        limit_s=limit_s,
    )
    choice = AppChoice(app, (build,), (cases.SMALL,), (1,))
    made = cases.study(
        apps=(choice,),
        mappings=(cases.UNPINNED,),
        collect=("energy",),
        repetitions=2,
        warmup=0,
        idle_power=IdlePower(0.2),
    )
    return replace(made, **changes)


def run(
    study: Study,
    node: Node,
    folder: Path,
    progress: Quiet | None = None,
    clocks: ClockWatch | None = None,
) -> None:
    """Make what is left of the study, as an attempt of its own."""
    plan = make_plan(study, node.topology, Path, (), lambda *_: None)
    collectors = Collectors(study, node, witness(), plan.programs, {})
    counter = counter_of(node.root)
    if counter.exists():
        collectors.idle_measurements.sleep = lambda seconds: idle(seconds, counter)
    history = read_history(folder, study, "n1")
    shard = Shard(folder / "records", "node1")
    origin = origin_of(study.name, study.digest, shard.attempt)
    runner = Runner(
        agenda_of(plan, history),
        shard,
        origin,
        MadeNode(lambda case: launch_of(plan, case)),
        LocalEngine(collectors),
        collectors,
        WHOLE_STUDY.may_start,
        progress or Quiet(),
        clocks or ClockWatch(),
    )
    try:
        runner.run()
    finally:
        shard.close()


def launch_of(plan: Plan, case: Case) -> Any:  # noqa: ANN401
    return build_launch(case, plan.programs[case.build.program], {"PATH": "/usr/bin:/bin"}, {})


def records(folder: Path, status: str | None = None) -> list[dict[str, Any]]:
    return [r for r in read_records(folder / "records") if status in (None, r["status"])]


@pytest.mark.parametrize(
    ("script", "limit_s", "status"),
    [
        (DRAW, HANG_S, "ok"),
        (f"{DRAW}; exit 3", HANG_S, "check-failed"),
        (f"{DRAW}; exit 1", HANG_S, "failed"),
        (f"{DRAW}; kill -9 $$", HANG_S, "failed"),
        ("exec sleep 600", 0.2, "timeout"),
        (f"exec taskset -c 0 sh -c '{WORK_UNTIL_LOOKED_AT}'", 20.0, "placement-violated"),
    ],
)
def test_a_run_s_energy_is_kept_whatever_became_of_it(
    tmp_path: Path, node: Node, script: str, limit_s: float, status: str
) -> None:
    if status == "placement-violated" and len(node.topology.online) < 2:
        pytest.skip("needs two CPUs")
    made: list[dict[str, Any]] = []
    # On a busy node the limit may be over before the program has started.
    while not made or any("elapsed_s" not in record for record in made):
        assert limit_s <= HANG_S
        folder = beside(tmp_path, str(limit_s), node)
        with looks_counted(folder / "looks") as looks:
            run(study_of(folder, script.replace("LOOKS", str(looks)), limit_s), node, folder)
        made, limit_s = records(folder, status), 4 * limit_s
        assert len(made) == 2
    for record in made:
        joules, elapsed_s = record["energy_pkg_j"], record["elapsed_s"]
        assert elapsed_s <= record["energy_window_s"]
        assert record["power_pkg_w"] == pytest.approx(joules / record["energy_window_s"])
        assert record["edp_js"] == pytest.approx(joules * elapsed_s)
        assert record["ed2p_js2"] == pytest.approx(joules * elapsed_s * elapsed_s)
        net_j = joules - record["idle_power_w"] * record["energy_window_s"]
        assert record["energy_net_j"] == pytest.approx(net_j)
        assert record["energy_source"] == "powercap"


def beside(folder: Path, name: str, node: Node) -> Path:
    """Return another folder for a study on the node."""
    made = folder / name
    made.mkdir()
    (made / "node").symlink_to(node.root)
    return made


def test_the_window_of_energy_is_the_program_s_own(tmp_path: Path, node: Node) -> None:
    studies = count()

    def beside_s() -> float:
        folder = beside(tmp_path, f"study{next(studies)}", node)
        run(study_of(folder, "sleep 0.1"), node, folder)
        return float(min(r["energy_window_s"] - r["elapsed_s"] for r in records(folder, "ok")))

    # What surrounds it, a process more, takes longer. A busy node may keep the meter waiting, but
    # not each time.
    until(lambda: beside_s() < 0.1)


def test_runs_and_idle_measurements_have_the_energy_of_each_core_kind(
    tmp_path: Path, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores = [core for core in node.topology.cores if core.kind]
    first_cpus = [core.cpus[0] for core in cores]
    add_core_pmu(node.root, format_cpulist(first_cpus))
    # CPUs of this machine that are offline are taken for siblings.
    write(node.root, "sys/devices/system/cpu/smt/control", "off")
    tools = tmp_path / "tools"
    tools.mkdir()
    install_perf(tools, *(core_row(cpu, "2.500000") for cpu in first_cpus))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    run(study_of(tmp_path, DRAW), node, tmp_path)
    made = records(tmp_path)
    assert [record["status"] for record in made] == ["idle", "ok", "ok"]
    numbers = Counter(core.kind for core in cores)
    for record in made:
        assert record["energy_by_kind_j"] == {kind: 2.5 * numbers[kind] for kind in numbers}
        # The package is read within: the figures of the verdict rest on it.
        assert record["energy_by_kind_window_s"] >= record["energy_window_s"]


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({}, "energy_by_kind_j", "no power_core PMU here"),
        ({"idle_power": None}, "energy_net_j", "the study asks for no idle power"),
        (
            {"collect": ("perf",), "idle_power": None},
            "energy_by_kind_j",
            "the study does not collect energy",
        ),
    ],
)
def test_energy_that_is_not_known_has_its_reason_in_every_run(
    tmp_path: Path, node: Node, changes: dict[str, Any], field: str, reason: str
) -> None:
    run(study_of(tmp_path, DRAW, **changes), node, tmp_path)
    for record in records(tmp_path, "ok"):
        assert field not in record
        assert record["unavailable"][field].startswith(reason)
        # Gross energy stands alone.
        assert ("energy_pkg_j" in record) == ("collect" not in changes)
        assert not {name for name in (*record, *record["unavailable"]) if "gate" in name}


# When one is due, and for which settings, is in tests/runners/measure/test_powercap.py.
def test_idle_power_is_a_record_for_the_runs_after_it(tmp_path: Path, node: Node) -> None:
    epp = SettingFactors(epp=("performance",))
    idle_power = IdlePower(0.1, every=2)
    study = study_of(tmp_path, DRAW, repetitions=5, idle_power=idle_power, settings=epp)
    progress = Quiet()
    run(study, node, tmp_path, progress)
    made = records(tmp_path)
    assert [r["status"] for r in made] == [*["idle", "ok", "ok"] * 2, "idle", "ok"]
    power = None
    for record in made:
        power = record["power_pkg_w"] if record["status"] == "idle" else power
        assert record["status"] == "idle" or record["idle_power_w"] == power
    idle = made[0]
    assert (idle["governor"], idle["governor_read"]) == ("current", "powersave")
    assert idle["settings"] == {"epp": "performance"}
    assert idle["duration_s"] == 0.1 <= idle["energy_window_s"]
    # 20 W, as far as others let the node draw it.
    drawn_j = idle["power_pkg_w"] * idle["energy_window_s"]
    assert drawn_j * 1e6 == pytest.approx(round(drawn_j * 1e6 / STEP_UJ) * STEP_UJ)
    assert drawn_j > 0
    assert "case_id" not in idle
    assert idle["unavailable"]["power_dram_w"] == "no dram energy counter on this node"
    wait = "idle measurement, 0.1 s, governor current, EPP performance"
    assert progress.waits == [wait] * 3
    # Before the first run two measurements are still to come, before the last none.
    first, last = progress.left_s[0], progress.left_s[-1]
    assert first is not None and first > 2 * 0.1
    # What was expected of the last run is the mean of those before it.
    *before, _ = records(tmp_path, "ok")
    assert last == pytest.approx(fmean(record["elapsed_s"] for record in before) + OVERHEAD_S)


def test_a_board_s_power_is_sampled_in_runs_and_while_the_node_idles(tmp_path: Path) -> None:
    root = tmp_path / "node"
    ina226(root, update_interval=1)
    node = Node(root, open_node(Path("/")).topology)
    studies = count()
    made: list[dict[str, Any]] = []

    def has_energy() -> bool:
        folder = beside(tmp_path, f"study{next(studies)}", node)
        idle_power, meter = IdlePower(0.6), "hwmon:ina226/power1"
        run(study_of(folder, "sleep 0.6", idle_power=idle_power, meter=meter), node, folder)
        made[:] = records(folder)
        return all("energy_board_j" in record for record in made)

    # On a busy node the thread may get no CPU for too long.
    until(has_energy)

    idle, *runs = made
    # The chip tells 6.25 W, whatever happens.
    assert idle["energy_board_j"] == pytest.approx(6.25 * idle["energy_window_s"])
    for record in runs:
        assert record["energy_board_j"] == pytest.approx(6.25 * record["energy_window_s"])
        assert record["power_board_w"] == pytest.approx(record["idle_power_w"]) == 6.25
        assert record["energy_net_j"] == pytest.approx(0.0, abs=1e-6)
        assert record["edp_js"] == pytest.approx(record["energy_board_j"] * record["elapsed_s"])
        assert record["energy_source"] == "hwmon:ina226/power1"
        window_s = record["energy_period_s"] * (record["energy_samples"] - 1)
        assert record["elapsed_s"] <= record["energy_window_s"] == pytest.approx(window_s)
        # A board's energy is none of the packages.
        asked = "the energy of hwmon:ina226/power1 is asked for"
        assert record["unavailable"]["energy_pkg_j"] == asked
        assert not {"energy_pkg_j", "power_pkg_w"} & set(record)


def test_without_energy_no_time_is_spent_on_idling(tmp_path: Path) -> None:
    node = Node(tmp_path / "bare", open_node(Path("/")).topology)
    began = time.monotonic()
    run(study_of(tmp_path, "exit 0", idle_power=IdlePower(600.0)), node, tmp_path)
    assert time.monotonic() - began < HANG_S
    names = {"energy_pkg_j", "energy_net_j", "idle_power_w", "edp_js", "power_pkg_w"}
    for record in records(tmp_path, "ok"):
        assert not names & set(record)
        for name in names:
            assert "/sys/class/powercap is missing" in record["unavailable"][name]


@pytest.fixture
def warm(tmp_path: Path) -> Node:
    """This machine's CPUs, with a package of 45 °C and the processes of a tree."""
    node = Node(tmp_path / "node", open_node(Path("/")).topology)
    heat(node, 45000)
    return node


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


def test_a_second_attempt_waits_for_the_firsts_temperature(tmp_path: Path, warm: Node) -> None:
    study = gated(tmp_path)
    # Ctrl-C while it waits records nothing and loses nothing.
    for progress in (StopsAfterOne(), StopsWaiting()):
        with pytest.raises(KeyboardInterrupt):
            run(study, warm, tmp_path, progress)
        assert [record["status"] for record in records(tmp_path)] == ["ok"]
        heat(warm, 80000)
    patient = Quiet()
    run(study, warm, tmp_path, patient)
    first, second = records(tmp_path, "ok")
    assert first["attempt"] == 1 < second["attempt"]
    assert first["gate_reached"] is True and "temperature_before_c" in first
    assert first["temperature_reference_c"] == {"package 0": 45.0}
    assert second["temperature_reference_c"] == first["temperature_reference_c"]
    assert second["gate_reached"] is False
    assert 0.2 <= second["gate_wait_s"] < 5
    assert patient.waits == ["waiting 0.2 s at most for package 0 to cool from 80 to 50 °C"]


def test_runs_wait_until_the_power_before_them_is_known_and_low(tmp_path: Path, node: Node) -> None:
    gate = PowerGate(below_w=9000.0, limit_s=HANG_S, over_s=0.05)
    patient = Quiet()
    run(study_of(tmp_path, DRAW, idle_power=None, power_gate=gate), node, tmp_path, patient)
    first, second = records(tmp_path, "ok")
    for record in (first, second):
        assert record["power_gate_reached"] is True
        assert record["power_before_window_s"] == 0.05
        assert 0 <= record["power_before_w"] < 9000
    assert 0.05 <= first["power_gate_wait_s"] < HANG_S
    assert patient.waits[0].endswith("for power before the run to be known and at most 9000 W")


def test_without_energy_power_before_has_the_reason(tmp_path: Path, node: Node) -> None:
    run(study_of(tmp_path, "true", idle_power=None, collect=()), node, tmp_path)
    for record in records(tmp_path, "ok"):
        assert record["unavailable"]["power_before_w"] == "the study does not collect energy"
