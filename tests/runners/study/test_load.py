"""What a run costs does not grow with the runs before it, nor a plan more than with its cases."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from configs.app import Size
from configs.study import AppChoice, Study
from runners.node.topology import flat_topology
from runners.plan.launch import Launch
from runners.plan.plan import Plan, make_plan
from runners.records.shard import Shard
from runners.study.agenda import agenda_of
from runners.study.history import History
from runners.study.machine import WHOLE_STUDY
from runners.study.runner import Runner
from runners.study.summary import PlanSummary
from tests.runners import cases
from tests.runners.study.made_node import MadeEngine, MadeNode, NothingBetween, Quiet, origin_of

LAUNCH = Launch((), ("program",), {}, {}, ())
ORIGIN = origin_of("demo", "d", 1)


class Calls(Quiet):
    """A study's progress that counts the functions which are called for each run."""

    def __init__(self) -> None:
        super().__init__()
        self.of_runs: list[int] = []
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
        self.of_runs.append(self._calls)
        self._calls = 0


def study_of(sizes: int, repetitions: int) -> Study:
    """Return a study of two mappings of an app with so many sizes."""
    some = tuple(Size(f"s{number}", ()) for number in range(sizes))
    app = replace(cases.DEMO, sizes={size.name: size for size in some}, metrics=())
    return cases.study(
        apps=(AppChoice(app, (cases.SERIAL,), some, (1,)),),
        mappings=(cases.UNPINNED, cases.PCORES_SET),
        repetitions=repetitions,
        warmup=0,
    )


def plan_of(study: Study) -> Plan:
    return make_plan(study, flat_topology(4), Path, ("taskset",), lambda *_: None)


def runner(plan: Plan, history: History, shard: Shard, progress: Calls) -> Runner:
    """Return what makes a plan's runs where every run takes a second and nothing is measured."""
    return Runner(
        agenda_of(plan, history),
        shard,
        ORIGIN,
        MadeNode(lambda _: LAUNCH),
        MadeEngine(cases.observation()),
        NothingBetween(),
        WHOLE_STUDY.may_start,
        progress,
    )


def test_the_last_runs_call_no_more_functions_than_the_first(tmp_path: Path) -> None:
    plan = plan_of(study_of(1, 100))
    shard = Shard(tmp_path / "records", "node1")
    with Calls() as calls:
        runner(plan, History(), shard, calls).run()
    shard.close()
    made = calls.of_runs[1:]
    assert len(made) == len(plan.cases) * 100 - 1
    tenth = len(made) // 10
    assert statistics.median(made[-tenth:]) <= 1.1 * statistics.median(made[tenth : 2 * tenth])


def outline_of(study: Study) -> PlanSummary:
    return PlanSummary(plan_of(study), History(), lambda _: LAUNCH)


def test_ten_thousand_cases_are_planned_with_all_their_runs() -> None:
    study = study_of(5000, 10)
    told = outline_of(study).as_json()
    rows = [row for table in told["tables"] for row in table["rows"]]
    assert len(told["tables"]) == 5000
    assert len({row["case_id"] for row in rows if not row["reason"]}) == told["cases"]
    assert told["cases"] + told["skipped"] == len(rows) == 10_000
    assert told["runs"] == told["cases"] * 10
