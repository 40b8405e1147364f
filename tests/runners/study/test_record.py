"""A run's record: what differed around the run; and what records cost, however many there are."""

from __future__ import annotations

import signal
import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pinstudy.analysis.results.sources import open_results
from pinstudy.base.reading import Reading
from pinstudy.configs.app import Check, Metric, Size
from pinstudy.configs.study import AppChoice
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.node.node import open_node
from pinstudy.runners.node.topology import flat_topology
from pinstudy.runners.placement.thread_trace import Stay, ThreadTrace
from pinstudy.runners.plan.case import loop_fields
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import Plan, make_plan
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.disturbances import MORE_THREADS, THROTTLED, disturbances
from pinstudy.runners.records.line import line_of
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.study.agenda import agenda_of
from pinstudy.runners.study.history import History
from pinstudy.runners.study.machine import WHOLE_STUDY
from pinstudy.runners.study.record import run_record, unfinished_record
from pinstudy.runners.study.runner import Runner
from pinstudy.runners.study.summary import PlanSummary
from tests.runners import cases
from tests.runners.study.made_node import MadeEngine, MadeNode, NothingBetween, Quiet, origin_of
from tests.runners.study.test_energy import records, run, study_of

HIGH, LOW = {"package-0": {"pl1_w": 125.0}}, {"package-0": {"pl1_w": 45.0}}
LAUNCH = Launch((), ("program",), {"LD_PRELOAD": "x.so", "HOME": "/"}, {}, ())


def recorded(
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    ending: Ending = cases.LASTED,
    thrown_out: str = "",
    threads: tuple[ThreadTrace, ...] = (),
    collected: list[Reading] | None = None,
    **changes: object,
) -> dict[str, Any]:
    """Return the record of a run of a case, with the node's state before and after it."""
    case = cases.case(**changes)
    planned = PlannedRun(1, 1, case.case_id, 1, warmup=False)
    governor = {"governor_read": "powersave"}
    states = Reading(governor | (before or {})), Reading(governor | (after or {}))
    seen = cases.observation(ending, threads=threads, looks=20)
    facts = (origin_of("study", "digest", 1), planned, case, LAUNCH, seen, "2026-01-01T00:00:00Z")
    return run_record(*facts, states, collected or [], thrown_out=thrown_out)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"power_limits": HIGH}, {"power_limits": LOW}, HIGH),
        ({"power_limits": HIGH}, {}, HIGH),
        ({"power_limits": HIGH}, {"power_limits": HIGH}, None),
        ({}, {}, None),
    ],
)
def test_power_limits_that_moved_during_a_run_are_told_from_before_and_after(
    before: dict[str, Any], after: dict[str, Any], told: object
) -> None:
    record = recorded(before, after)
    assert record.get("power_limits_before") == told
    assert record.get("power_limits") == after.get("power_limits")


CAPPED: dict[str, Any] = {
    "max_khz": {"1200000": "0-7"},
    "settings_read": {"max_frequency": "1.2 GHz"},
}
COOLED = Reading({"cpu_cooling": {"cooling_device0": 3}})


@pytest.mark.parametrize(
    ("after", "collected", "status", "why"),
    [
        (CAPPED, [COOLED], "ok", ""),
        # Without a cooling device somebody else has lowered it.
        (CAPPED, [], "settings-changed", "max_khz was 2400000 kHz"),
        ({**CAPPED, "turbo": False}, [COOLED], "settings-changed", "turbo was True"),
    ],
)
def test_a_run_whose_cpus_the_kernel_has_cooled_is_counted(
    after: dict[str, Any], collected: list[Reading], status: str, why: str
) -> None:
    before = {"max_khz": {"2400000": "0-7"}, "settings_read": {"max_frequency": "2.4 GHz"}}
    record = recorded({"turbo": True} | before, {"turbo": True} | after, collected=collected)
    assert record["status"] == status and why in record["reason"]
    assert (THROTTLED in disturbances(record)) == bool(collected)


def test_a_run_during_which_the_firmware_moved_the_hardwares_limit_is_counted() -> None:
    def state(khz: int, highest_khz: int) -> dict[str, Any]:
        limits = {"max_khz": {str(khz): "0-7"}, "highest_khz": {str(highest_khz): "0-7"}}
        return limits | {"settings_read": {"max_frequency": f"{khz / 1e6:g} GHz"}}

    assert recorded(state(5_000_000, 5_000_000), state(4_800_000, 4_800_000))["status"] == "ok"
    # Somebody has limited it, or no longer does.
    for before, after in ((5_000_000, 4_800_000), (4_800_000, 5_000_000)):
        record = recorded(state(before, 5_000_000), state(after, 5_000_000))
        assert record["status"] == "settings-changed"


def test_a_scheduler_is_told_with_what_it_took_or_why_it_was_thrown_out() -> None:
    before = {"scheduler_loaded_s": 7.5, "scheduler_cpu_s": 1.25}
    record = recorded(before, {"scheduler_loaded_s": 9.5, "scheduler_cpu_s": 1.75})
    assert (record["scheduler_loaded_s"], record["scheduler_cpu_s"]) == (7.5, 0.5)
    assert "scheduler_loaded_s" not in recorded()
    why = "scx_lavd was thrown out: runnable task stall"
    record = recorded({"sched_ext": "enabled"}, {"sched_ext": "disabled"}, thrown_out=why)
    assert (record["status"], record["reason"]) == ("settings-changed", why)
    assert record["elapsed_s"] == cases.LASTED.elapsed_s


@pytest.mark.parametrize(("working", "at_work"), [(2, None), (3, 3)])
def test_more_threads_at_work_than_asked_for_are_counted(working: int, at_work: int | None) -> None:
    runnable = dict.fromkeys(range(1, 21), 0.05)
    threads = tuple(
        ThreadTrace(tid, 1, [Stay((2, 4), 20, Counter({2: 20}), 0.5)], 1, 20, runnable=runnable)
        for tid in range(1, working + 1)
    )
    record = recorded(threads=threads, mapping=cases.PCORES_SET, mechanism="taskset")
    assert record["placement"].get("at_work") == at_work
    assert (MORE_THREADS in disturbances(record)) == (at_work is not None)


def test_a_run_that_could_not_start_is_lost_to_its_regions_too(tmp_path: Path) -> None:
    case = cases.case(regions=("solve",))
    lost = [
        unfinished_record(
            origin_of("study", "digest", 1),
            PlannedRun(at, at, case.case_id, at, warmup=False),
            case,
            "2026-01-01T00:00:00Z",
            "failed",
            "cannot be started: no taskset",
        )
        for at in (1, 2)
    ]
    (tmp_path / "records").mkdir()
    (tmp_path / "records/node1-0001.jsonl").write_bytes(b"".join(map(line_of, lost)))
    found = {summary.key.table.region: summary for summary in open_results(str(tmp_path)).cases}
    assert found.keys() == {None, "solve"}
    assert [summary.lost.count for summary in found.values()] == [2, 2]


def test_a_run_that_was_killed_before_its_program_started_is_a_record(tmp_path: Path) -> None:
    record = recorded(ending=Ending(signal.SIGKILL, 0.0, 0.0, 0.0, 0))
    assert "elapsed_s" not in record
    assert record["unavailable"]["elapsed_s"] == "the program did not start"
    (tmp_path / "a.jsonl").write_bytes(line_of(record))
    (read,) = read_records(tmp_path)
    assert (read["status"], read["reason"]) == ("failed", "ended by SIGKILL")
    # What of the environment decides how a program runs is in the record.
    assert read["environment"] == {"inherited": {"LD_PRELOAD": "x.so"}}


def test_the_record_says_that_a_program_takes_no_schedule_and_keeps_its_id() -> None:
    assert recorded()["no_schedule"] is True
    with_loops = cases.case(app=replace(cases.DEMO, schedules=("static", "dynamic")))
    assert loop_fields(with_loops) == {}
    assert with_loops.case_id == cases.case().case_id
    assert loop_fields(replace(with_loops, build=cases.SERIAL)) == {"no_schedule": True}


WRITES = "pwd > where; echo rating=42.5 > result-1.txt; echo rating=1 > other.txt; echo printed"


def test_a_runs_files_are_read_and_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users").mkdir()
    monkeypatch.chdir(tmp_path / "users")
    study = study_of(tmp_path, WRITES, idle_power=None, repetitions=1)
    rating = Metric("rating", "rating=([0-9.]+)", "Gflop/s", better="higher")
    metrics = (rating, Metric("bandwidth", "B/W=([0-9.]+)", "GB/s"))
    check = Check(command=("/bin/sh", "-c", "grep -q printed"))
    (choice,) = study.apps
    app = replace(choice.app, writes="result-*.txt", metrics=metrics, check=check)
    run(replace(study, apps=(replace(choice, app=app),)), open_node(Path("/")), tmp_path)
    (record,) = records(tmp_path, "ok")
    assert record["metrics"] == {"rating": 42.5}
    units = [("rating", "Gflop/s"), ("bandwidth", "GB/s")]
    assert list(record["metric_units"].items()) == units
    assert record["metric_better"] == {"rating": "higher"}
    assert "B/W" in record["unavailable"]["metrics.bandwidth"]
    assert not list((tmp_path / "users").iterdir())


class Calls(Quiet):
    """A study's progress that counts the functions which are called for each run."""

    def __init__(self) -> None:
        super().__init__()
        self.by_run: list[int] = []
        self._calls = 0

    def _called(self, _frame: FrameType, event: str, _argument: object) -> None:
        self._calls += event in ("call", "c_call")

    def __enter__(self) -> Calls:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def finished(self, record: Mapping[str, Any]) -> None:
        del record
        self.by_run.append(self._calls)
        self._calls = 0


def plan_of(sizes: int, repetitions: int) -> Plan:
    """Return the plan of a study of two mappings of an app with so many sizes."""
    some = tuple(Size(f"s{number}", ()) for number in range(sizes))
    app = replace(cases.DEMO, sizes={size.name: size for size in some}, metrics=())
    study = cases.study(
        apps=(AppChoice(app, (cases.SERIAL,), some, (1,)),),
        mappings=(cases.UNPINNED, cases.PCORES_SET),
        repetitions=repetitions,
        warmup=0,
    )
    return make_plan(study, flat_topology(4), Path, ("taskset",), lambda *_: None)


def test_the_last_runs_call_no_more_functions_than_the_first(tmp_path: Path) -> None:
    plan = plan_of(1, 100)
    with closing(Shard(tmp_path / "records", "node1")) as shard, Calls() as calls:
        made = MadeNode(lambda _: LAUNCH), MadeEngine(cases.observation()), NothingBetween()
        begun = agenda_of(plan, History()), shard, origin_of("demo", "d", 1)
        Runner(*begun, *made, WHOLE_STUDY.may_start, calls).run()
    by_run = calls.by_run[1:]
    assert len(by_run) == len(plan.cases) * 100 - 1
    tenth = len(by_run) // 10
    assert statistics.median(by_run[-tenth:]) <= 1.1 * statistics.median(by_run[tenth : 2 * tenth])


def test_thousands_of_cases_are_planned_with_all_their_runs() -> None:
    told = PlanSummary(plan_of(1000, 10), History(), lambda _: LAUNCH).as_json()
    rows = [row for table in told["tables"] for row in table["rows"]]
    assert len(told["tables"]) == 1000
    assert len({row["case_id"] for row in rows if not row["reason"]}) == told["cases"]
    assert told["cases"] + told["skipped"] == len(rows) == 2000
    assert told["runs"] == told["cases"] * 10
