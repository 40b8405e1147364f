"""What was seen of the threads is compared with what the mapping says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.cpulist import parse_cpulist
from runners.placement import PlacementSampler, ThreadTrace, prove


def online_file(folder: Path, cpus: str) -> Path:
    file = folder / "online"
    file.write_text(f"{cpus}\n")
    return file


def trace(tid: int, allowed: tuple[int, ...], seen: dict[int, int], pid: int = 100) -> ThreadTrace:
    return ThreadTrace(tid, pid, allowed, Counter(seen))


def test_pinned_threads_on_their_own_cpus_are_proved() -> None:
    team = [trace(100, (0,), {0: 9}), trace(101, (1,), {1: 8})]
    assert prove(team, "pin", (0, 1), 2, 1.0).verdict == "proved"


def test_ignored_places_are_a_violation() -> None:
    team = [trace(100, (0, 1), {0: 9}), trace(101, (0, 1), {1: 8})]
    proof = prove(team, "pin", (0, 1), 2, 1.0)
    assert proof.verdict == "violated"
    assert "thread 100 was allowed CPU 0-1" in proof.reason


def test_two_threads_on_one_cpu_are_a_violation() -> None:
    team = [trace(100, (0,), {0: 9}), trace(101, (0,), {0: 8})]
    assert "both pinned to CPU 0" in prove(team, "pin", (0, 1), 2, 1.0).reason


def test_threads_share_a_cpu_only_where_the_mapping_gives_it_twice() -> None:
    def on(*cpus: int) -> list[ThreadTrace]:
        return [trace(100 + i, (cpu,), {cpu: 5}) for i, cpu in enumerate(cpus)]

    assert prove(on(0, 0, 1, 1), "pin", (0, 0, 1, 1), 4, 1.0).verdict == "proved"
    crowded = prove(on(0, 0, 0, 1), "pin", (0, 0, 1, 1), 4, 1.0)
    assert crowded.verdict == "violated"
    assert crowded.reason == "threads 100 and 101 and 102 were all pinned to CPU 0"


def test_a_smaller_team_than_asked_for_is_a_violation() -> None:
    team = [trace(100, (0,), {0: 9})]
    assert prove(team, "pin", (0, 1), 2, 1.0).reason == "only 1 of 2 threads ran"


def test_a_larger_team_than_pinned_is_a_violation() -> None:
    team = [trace(100 + i, (i,), {i: 3}) for i in range(3)]
    assert prove(team, "pin", (0, 1, 2), 2, 1.0).verdict == "violated"


def test_a_very_short_run_is_unproved_rather_than_violated() -> None:
    team = [trace(100, (0,), {0: 1})]
    proof = prove(team, "pin", (0, 1), 2, 0.002)
    assert proof.verdict == "unproved"
    assert "0.002 s" in proof.reason


def test_a_run_that_was_seldom_looked_at_is_unproved_rather_than_violated() -> None:
    proof = prove([trace(100, (0,), {0: 3})], "none", (0,), 2, 0.09, looks=3)
    assert proof.verdict == "unproved"
    assert proof.reason == "only 1 of 2 threads seen in 3 looks at a run of 0.09 s"
    unbound = [trace(100, (0,), {0: 3}), trace(101, (0, 1), {1: 1})]
    assert prove(unbound, "pin", (0, 1), 2, 0.09, looks=3).verdict == "unproved"
    bound_elsewhere = [trace(100, (0,), {0: 3}), trace(101, (0, 1), {1: 2})]
    assert prove(bound_elsewhere, "pin", (0, 1), 2, 0.09, looks=3).verdict == "violated"


def test_a_thread_outside_the_set_is_a_violation() -> None:
    team = [trace(100, (0, 1), {0: 5, 3: 1})]
    assert "ran on CPU 3, outside 0-1" in prove(team, "set", (0, 1), 1, 1.0).reason


def test_threads_bound_by_somebody_else_violate_scheduler_and_set() -> None:
    for tightness in ("none", "set"):
        team = [trace(100, (0, 1), {0: 5}), trace(101, (1,), {1: 5})]
        assert "thread 101 was bound to CPU 1" in prove(team, tightness, (0, 1), 2, 1.0).reason


def test_a_cpu_of_the_mapping_that_was_away_is_a_violation_whatever_the_masks_say() -> None:
    team = [trace(100, (0, 1), {0: 5}), trace(101, (0, 1), {0: 5})]
    assert prove(team, "set", (0, 1), 2, 1.0, plugged=(7,)).verdict == "proved"
    away = prove(team, "set", (0, 1), 2, 1.0, plugged=(1, 7))
    assert away.verdict == "violated"
    assert away.reason == "CPU 1 went offline or came back while the program ran"


def test_the_sampler_notices_cpus_that_go_and_come_back(tmp_path: Path) -> None:
    online = online_file(tmp_path, "0-3,5")
    sampler = PlacementSampler(10, tmp_path, online)
    sampler.sample()
    assert not sampler.plugged
    for cpus in ("0-2,5", "0-5", "", "0-3,5"):
        online.write_text(f"{cpus}\n")
        sampler.sample()
    assert sampler.plugged == (3, 4)


def test_a_waiting_shell_beside_the_program_is_no_violation() -> None:
    shell = trace(90, (0, 1), {0: 5}, pid=90)
    team = [trace(100, (0,), {0: 9}), trace(101, (1,), {1: 8})]
    assert prove([shell, *team], "pin", (0, 1), 2, 1.0).verdict == "proved"


def test_nothing_seen_is_unproved() -> None:
    assert prove([], "set", (0,), 1, 0.0001).verdict == "unproved"


def task(proc: Path, pid: int, tid: int, cpu: int, allowed: str, children: str = "") -> None:
    """Write a thread's files."""
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True)
    fields = " ".join(["S", *["0"] * 35, str(cpu), "0"])
    (folder / "stat").write_text(f"{tid} (a ) name) {fields}\n")
    (folder / "status").write_text(f"Name:\ta\nCpus_allowed:\tf\nCpus_allowed_list:\t{allowed}\n")
    (folder / "children").write_text(children)


def test_the_sampler_reads_masks_and_cpus_of_threads_and_children(tmp_path: Path) -> None:
    task(tmp_path, 10, 10, 3, "0-3", children="20 ")
    task(tmp_path, 10, 11, 1, "1")
    task(tmp_path, 20, 20, 2, "2")
    sampler = PlacementSampler(10, tmp_path, online_file(tmp_path, "0-7"))
    sampler.sample()
    sampler.sample()
    seen = {
        tid: (thread.pid, thread.allowed, dict(thread.seen))
        for tid, thread in sampler.threads.items()
    }
    assert seen == {
        10: (10, (0, 1, 2, 3), {3: 2}),
        11: (10, (1,), {1: 2}),
        20: (20, (2,), {2: 2}),
    }


@given(stat=st.binary(max_size=200), status=st.binary(max_size=200))
def test_unreadable_threads_are_not_seen(
    tmp_path_factory: pytest.TempPathFactory, stat: bytes, status: bytes
) -> None:
    root = tmp_path_factory.mktemp("proc")
    folder = root / "7" / "task" / "7"
    folder.mkdir(parents=True)
    (folder / "stat").write_bytes(stat)
    (folder / "status").write_bytes(status)
    PlacementSampler(7, root, root / "online").sample()


def test_lists_of_cpus_that_stay_the_same_are_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counted(text: str) -> tuple[int, ...]:
        parsed.append(text)
        return parse_cpulist(text)

    monkeypatch.setattr("runners.placement.parse_cpulist", counted)
    for tid in range(10, 14):
        task(tmp_path, 10, tid, tid, "0-255")
    sampler = PlacementSampler(10, tmp_path, online_file(tmp_path, "0-255"))
    for _ in range(5):
        sampler.sample()
    assert len(sampler.threads) == 4
    # What is online, and the one mask of twenty looks at a thread.
    assert parsed == ["0-255", "0-255"]


def test_a_mask_that_nobody_has_set_is_what_is_online_of_it(tmp_path: Path) -> None:
    """Such a mask names CPUs that are not there: those that could be plugged in."""
    task = tmp_path / "10/task/10"
    task.mkdir(parents=True)
    (task / "status").write_text("Name:\tlu\nCpus_allowed_list:\t0-127\n")
    (task / "stat").write_text(f"10 (lu) R {' '.join(['0'] * 35)} 3 0 0\n")
    sampler = PlacementSampler(10, tmp_path, online_file(tmp_path, "0-5,7"))
    sampler.sample()
    assert sampler.threads[10].allowed == (0, 1, 2, 3, 4, 5, 7)
    proof = prove(sampler.threads.values(), "none", (0, 1, 2, 3, 4, 5, 7), 1, 1.0)
    assert proof.verdict == "proved"
