"""CPUs that are taken away: before a study, while it runs, and by a cpuset."""

from __future__ import annotations

import json

import pytest

from tests.vnode.commands import (
    ENVIRONMENT,
    PINSTUDY,
    RESULTS,
    STUDIES,
    pinstudy,
    records,
    set_apart,
    settings,
    start_study,
    study,
    until,
)
from tests.vnode.node import KEPT, VirtualNode

pytestmark = pytest.mark.vnode


def put(node: VirtualNode, cpu: int, online: bool) -> None:
    node.shell(f"echo {int(online)} >/sys/devices/system/cpu/cpu{cpu}/online")


def test_a_cpu_that_is_offline_is_in_no_kind(node: VirtualNode) -> None:
    put(node, 6, online=False)

    ended = pinstudy(node, "topology", "--json")

    kinds = json.loads(ended.output)["kinds"]
    assert [(kind["name"], kind["cpus"]) for kind in kinds] == [("P", "0-3"), ("E", "4-5,7")]


def test_cases_that_need_more_cores_than_are_online_are_left_out(node: VirtualNode) -> None:
    for cpu in (5, 6, 7):
        put(node, cpu, online=False)

    ended = pinstudy(node, *study("ten-cases"))

    assert ended.status == 0, ended
    runs = {run["case_number"]: run for run in records(node, "ten-cases")}
    for number, run in runs.items():
        # Two threads and one E-core that is left: all cases on E-cores.
        if number in {4, 5, 9, 10}:
            assert run["status"] == "left-out", run
            assert run["reason"]
        else:
            assert run["status"] == "ok", run
    assert sorted(runs) == list(range(1, 11))


def test_a_policy_that_vanishes_during_a_study_is_put_back_when_it_returns(
    node: VirtualNode,
) -> None:
    set_apart(node)
    before = settings(node)
    running = start_study(node, "ten-cases")
    until(node, lambda: len(records(node, "ten-cases")) >= 1)

    put(node, 5, online=False)
    ended = node.wait(running, 150)
    put(node, 5, online=True)
    pinstudy(node, "restore")

    assert "Traceback" not in ended.errors + ended.output
    assert settings(node) == before
    runs = records(node, "ten-cases")
    on_p_cores = [run for run in runs if run["mapping"].startswith("pcores")]
    assert [run["status"] for run in on_p_cores] == ["ok"] * 4, on_p_cores


def test_a_cpuset_decides_which_cpus_a_study_may_use(node: VirtualNode) -> None:
    node.shell(
        "cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir -p few;"
        "echo 0-4 >few/cpuset.cpus"
    )
    script = 'echo $$ >/sys/fs/cgroup/few/cgroup.procs; exec "$@"'
    command = (PINSTUDY, "run", str(STUDIES / "ten-cases.yaml"), "--results", RESULTS)

    ended = node.run(
        *("bash", "-c", script, "bash", *command), cwd=KEPT, env=ENVIRONMENT, timeout=300
    )

    assert ended.status == 0, ended
    runs = {run["case_number"]: run for run in records(node, "ten-cases")}
    # One E-core is left, too few for two threads.
    assert {number for number, run in runs.items() if run["status"] == "left-out"} == {4, 5, 9, 10}
    good = {run["cpus"] for run in runs.values() if run["status"] == "ok"}
    assert good == {"0-4", "0,2"}
