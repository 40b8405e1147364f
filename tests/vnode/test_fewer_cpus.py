"""CPUs that are taken away: before a study, while it runs, and by a cpuset."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from vnode.commands import (
    ENVIRONMENT,
    PINSTUDY,
    RESULTS,
    SETTINGS,
    STUDIES,
    pinstudy,
    records,
    settings,
    start_study,
    study,
    until,
    vary_settings,
)
from vnode.node import KEPT, VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]


SMT = "/sys/devices/system/cpu/smt/control"


def put(node: VirtualNode, cpu: int, online: bool) -> None:
    node.shell(f"echo {int(online)} >/sys/devices/system/cpu/cpu{cpu}/online")


def once_recorded(node: VirtualNode, name: str, runs: int, command: str) -> int:
    """Run a command once a study has `runs` records; return their number then.

    The guest itself waits: on a starved host the study would go on between two looks of the host.
    """
    made = f"cat {RESULTS}/{name}/*/records/*.jsonl 2>/dev/null | wc -l"
    return int(node.shell(f"until [ $({made}) -ge {runs} ]; do sleep 0.1; done; {command}; {made}"))


def test_a_cpu_that_is_offline_is_in_no_kind(node: VirtualNode) -> None:
    put(node, 6, online=False)

    ended = pinstudy(node, "topology", "--json")

    kinds = json.loads(ended.output)["kinds"]
    assert [(kind["name"], kind["cpus"]) for kind in kinds] == [("P", "0-3"), ("E", "4-5,7")]


GROUP = "/sys/fs/cgroup/bench"


@pytest.fixture
def partition(node: VirtualNode) -> Iterator[None]:
    """Make an isolated cpuset partition of CPUs 0-1; nothing else tells of it in Linux 6.1."""
    node.shell(
        f"echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; mkdir {GROUP}; cd {GROUP};"
        "echo 0-1 >cpuset.cpus; echo isolated >cpuset.cpus.partition"
    )
    yield
    node.shell(f"echo member >{GROUP}/cpuset.cpus.partition; rmdir {GROUP}")


@pytest.mark.usefixtures("partition")
def test_an_isolated_partition_is_seen_from_without_and_from_within(node: VirtualNode) -> None:
    outside = json.loads(pinstudy(node, "topology", "--json").output)
    join = f"echo $$ >{GROUP}/cgroup.procs; exec {PINSTUDY} topology --json"
    inside = json.loads(node.run("sh", "-c", join, cwd=KEPT, env=ENVIRONMENT).output)

    assert (outside["isolated"], outside["allowed"]) == ("0-1", "2-7")
    assert (inside["isolated"], inside["allowed"]) == ("0-1", "0-1")
    for topology, told in ((outside, "of other processes"), (inside, "balances no threads")):
        assert told in " ".join(topology["notes"])


def test_cases_that_need_more_cores_than_are_online_are_left_out(node: VirtualNode) -> None:
    for cpu in (5, 6, 7):
        put(node, cpu, online=False)

    ended = pinstudy(node, *study("ten-cases"))

    assert ended.status == 0, ended
    runs = {run["case_number"]: run for run in records(node, "ten-cases")}
    for number, run in runs.items():
        # Two threads and one E-core that is left: all cases on E-cores.
        if number in {4, 5, 9, 10}:
            assert run["status"] == "skipped", run
            assert run["reason"]
        else:
            assert run["status"] == "ok", run
    assert sorted(runs) == list(range(1, 11))


def test_a_policy_that_vanishes_during_a_study_is_put_back_when_it_returns(
    node: VirtualNode,
) -> None:
    vary_settings(node)
    before = settings(node)
    running = start_study(node, "ten-cases")
    until(node, lambda: len(records(node, "ten-cases")) >= 1)

    put(node, 5, online=False)
    ended = node.wait(running)
    put(node, 5, online=True)
    pinstudy(node, "restore")

    assert "Traceback" not in ended.errors + ended.output
    assert settings(node) == before
    runs = records(node, "ten-cases")
    on_p_cores = [run for run in runs if run["mapping"].startswith("pcores")]
    # A run in flight on P-cores ran on a node that changed.
    statuses = sorted(run["status"] for run in on_p_cores)
    assert statuses in (["ok"] * 4, [*["ok"] * 3, "settings-changed"]), on_p_cores


def test_what_cannot_be_put_back_says_that_its_cpu_is_offline(node: VirtualNode) -> None:
    vary_settings(node)
    before = settings(node)
    killed = start_study(node, "ten-cases")
    until(node, lambda: len(records(node, "ten-cases")) >= 1)
    node.kill(killed, signal.SIGKILL)
    node.wait(killed)
    put(node, 5, online=False)

    while_offline = pinstudy(node, "mappings")
    of_others = settings_of_others(node, 5)
    put(node, 5, online=True)
    afterwards = pinstudy(node, "mappings")

    (line,) = while_offline.errors.strip().splitlines()
    assert "the CPUs of policy5 are offline" in line
    assert "echo 1 > /sys/devices/system/cpu/cpu5/online" in line
    assert of_others == "\n".join(line for line in before.splitlines() if "policy5" not in line)
    assert "put back the settings" in afterwards.errors
    assert settings(node) == before


def settings_of_others(node: VirtualNode, cpu: int) -> str:
    """Return the settings without those of an offline CPU, whose files cannot be read."""
    return node.shell(f"({SETTINGS} 2>/dev/null || true) | grep -v policy{cpu}/")


def test_a_cpu_that_came_back_is_used_again_by_the_same_study(node: VirtualNode) -> None:
    name = "ten-cases-twice"
    running = start_study(node, name)
    once_recorded(node, name, 3, "echo 0 >/sys/devices/system/cpu/cpu5/online")
    until(node, lambda: any(run["status"] == "skipped" for run in records(node, name)))
    put(node, 5, online=True)
    ended = node.wait(running)

    assert ended.status == 0, ended
    reasons = {run["reason"] for run in records(node, name) if run["status"] == "skipped"}
    assert all("CPU 5 is offline" in reason for reason in reasons), reasons
    assert "CPU 5 is offline" in ended.errors
    second = [run for run in records(node, name) if run.get("repetition") == 2]
    assert len(second) == 10, [run["mapping"] for run in second]

    again = pinstudy(node, *study(name))

    assert again.status == 0, again
    runs = [
        (run["case_number"], run["repetition"])
        for run in records(node, name)
        if run["status"] != "skipped"
    ]
    assert sorted(runs) == [(case, repetition) for case in range(1, 11) for repetition in (1, 2)]


def test_without_smt_the_cases_on_e_cores_go_on(node: VirtualNode) -> None:
    name = "ten-cases-twice"
    running = start_study(node, name)
    recorded = once_recorded(node, name, 3, f"echo off >{SMT}")
    ended = node.wait(running)
    node.shell(f"echo on >{SMT}")

    assert "Traceback" not in ended.output + ended.errors
    runs = records(node, name)
    skipped = [run for run in runs if run["status"] == "skipped"]
    mappings = {run["mapping"] for run in skipped}
    reasons = {(run["mapping"], run["reason"]) for run in skipped}
    assert mappings == {"unpinned", "pcores-set", "pcores-pin"}, reasons
    # The kernel takes one CPU after the other: the first case may have met only one offline.
    assert "offline" in skipped[0]["reason"]
    for run in skipped[1:]:
        assert "CPUs 1,3 are offline" in run["reason"] or "CPUs 1 and 3" in run["reason"], run
        assert "`echo on > /sys/devices/system/cpu/smt/control`" in run["reason"]
    on_e_cores = [run for run in runs if run["mapping"].startswith("ecores")]
    assert len([run for run in on_e_cores if run["status"] == "ok"]) >= 7, on_e_cores
    # The run during which SMT was switched off may say either.
    assert {run["smt"] for run in runs[recorded + 1 :] if run["status"] == "ok"} == {"off"}


def test_a_cpuset_decides_which_cpus_a_study_may_use(node: VirtualNode) -> None:
    node.shell(
        "cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir -p few;"
        "echo 0-4 >few/cpuset.cpus"
    )
    script = 'echo $$ >/sys/fs/cgroup/few/cgroup.procs; exec "$@"'
    command = (PINSTUDY, "run", str(STUDIES / "ten-cases.yaml"), "--results", RESULTS)

    ended = node.run("bash", "-c", script, "bash", *command, cwd=KEPT, env=ENVIRONMENT)

    assert ended.status == 0, ended
    runs = {run["case_number"]: run for run in records(node, "ten-cases")}
    # One E-core is left, too few for two threads.
    assert {number for number, run in runs.items() if run["status"] == "skipped"} == {4, 5, 9, 10}
    made_runs = {run["cpus"] for run in runs.values() if run["status"] == "ok"}
    assert made_runs == {"0-4", "0,2"}
