"""What a study will take is told before it starts, its idle measurements included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from configs.library import load_study
from configs.repetitions import Race
from configs.settings import SettingFactors
from configs.study import IdlePower, Study, TemperatureGate
from runners.study.history import History
from runners.study.machine import open_machine
from runners.study.summary import PlanSummary
from tests.runners.power_pmu_trees import power_pmu_tree
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree
from tests.support.trees import build_tree

HYBRID = "i9-14900k-noht"
LU = "lu-ompscr"


def paper(**changes: object) -> Study:
    """Return the published study: 70 cases, half of them under each of two governors."""
    return replace(load_study("paper"), **changes)  # type: ignore[arg-type]


def with_energy(folder: Path) -> Path:
    root = build_tree(folder, HYBRID)
    (root / "proc/cpuinfo").unlink(missing_ok=True)
    powercap = powercap_tree(folder / "powercap", INTEL_CLIENT)
    (root / "sys/class").mkdir(exist_ok=True)
    (powercap / "sys/class/powercap").rename(root / "sys/class/powercap")
    return root


def outline(root: Path, study: Study) -> PlanSummary:
    return open_machine(root, None).summary(study, root / "results")


def test_idle_measurements_are_counted_and_their_time_is_forecast(
    tmp_path: Path,
) -> None:
    root = with_energy(tmp_path)
    without = outline(root, paper(idle_power=None))
    found = outline(root, paper(idle_power=IdlePower(10.0, 100)))
    assert without.idle_measurements == 0
    # 35 cases x (10 repetitions + 1 warm-up) are 385 runs under each: before runs 1, 101, 201, 301.
    assert found.idle_measurements == 2 * 4
    assert without.left_s is not None
    assert found.left_s == pytest.approx(without.left_s + 80.0)
    assert found.as_json()["idle_measurements"] == 8
    assert found.as_json()["expected_s"] == found.left_s
    assert (
        "8 idle measurements of 10 s: before the first run under each governor and every 100 runs"
        in found.summary()
    )


def test_without_repeats_there_is_one_a_governor(tmp_path: Path) -> None:
    found = outline(with_energy(tmp_path), paper(idle_power=IdlePower(10.0)))
    assert found.idle_measurements == 2
    assert (
        "2 idle measurements of 10 s: before the first run under each governor" in found.summary()
    )


def test_idle_measurements_are_counted_by_all_settings(tmp_path: Path) -> None:
    asked = paper(idle_power=IdlePower(10.0), settings=SettingFactors(turbo=("on", "off")))
    found = outline(with_energy(tmp_path), asked)
    assert found.idle_measurements == 4
    line = "4 idle measurements of 10 s: before the first run under each combination of settings"
    assert line in found.summary()


def test_the_power_pmu_is_a_source_too(tmp_path: Path) -> None:
    root = build_tree(tmp_path, HYBRID)
    assert outline(root, paper()).idle_measurements == 0
    pmu = power_pmu_tree(tmp_path / "pmu")
    (root / "sys/bus/event_source/devices").mkdir(parents=True, exist_ok=True)
    (pmu / "sys/bus/event_source/devices/power").rename(root / "sys/bus/event_source/devices/power")
    assert outline(root, paper()).idle_measurements == 8


@pytest.mark.parametrize("collect", [("perf",), ("perf", "energy")])
def test_where_energy_is_not_measured_no_time_is_set_aside(
    tmp_path: Path, collect: tuple[str, ...]
) -> None:
    energy_is_there = "energy" not in collect
    root = with_energy(tmp_path) if energy_is_there else build_tree(tmp_path, HYBRID)
    found = outline(root, paper(collect=collect))
    assert found.left_s == outline(root, paper(collect=collect, idle_power=None)).left_s
    assert "no idle measurement: the packages' energy cannot be measured" in found.summary()


def test_a_study_without_idle_power_says_nothing_of_it(tmp_path: Path) -> None:
    summary = outline(with_energy(tmp_path), paper(idle_power=None)).summary()
    assert not any("idle" in line for line in summary)


def test_what_takes_time_beside_the_runs_is_told(tmp_path: Path) -> None:
    root = build_tree(tmp_path, HYBRID)
    asked = paper(idle_power=None, prove=True, temperature_gate=TemperatureGate(5.0, 120.0))
    more = set(outline(root, asked).summary()) - set(
        outline(root, paper(idle_power=None)).summary()
    )
    assert more == {
        "before the runs the node's instruments are tested, once a boot",
        "before each run up to 2 min 00 s for packages to cool",
    }


def test_a_race_that_time_alone_limits_has_no_largest_number_of_runs(tmp_path: Path) -> None:
    timed = paper(race=Race("time", time_budget_s=300.0, runs="any"), idle_power=None, warmup=1)
    *_, last = outline(build_tree(tmp_path, HYBRID), timed).summary()
    # The reference's warm-up run, and a run of each of the 70 cases.
    assert last == "71 runs or more; expected time: at most 5 min 00 s"


def test_the_time_that_a_race_may_take_is_no_more_than_that(tmp_path: Path) -> None:
    asked = paper(race=Race("time", time_budget_s=300.0), idle_power=None, warmup=1)
    (*_, last) = outline(build_tree(tmp_path, HYBRID), asked).summary()
    assert last.endswith("; expected time: at most 5 min 00 s")


def estimates_s(plan: PlanSummary, app: str) -> dict[str, float]:
    rows = [row for table in plan.tables() for row in table["rows"]]
    return {row["case_id"]: row["estimate_s"] for row in rows if row["app"] == app}


def test_the_rows_of_a_plan_are_corrected_by_a_run_as_the_expected_time_is(tmp_path: Path) -> None:
    hinted = outline(build_tree(tmp_path, HYBRID), paper(idle_power=None))
    ran = hinted.plan.cases[0]
    hints_s = estimates_s(hinted, ran.app.name)
    took_s = hints_s[ran.case_id] / 10
    after = replace(hinted, history=History())
    record = {"case_id": ran.case_id, "status": "ok", "repetition": 1, "elapsed_s": took_s}
    after.history.add(record)
    expected_s = {case_id: pytest.approx(hint_s / 10) for case_id, hint_s in hints_s.items()}
    assert estimates_s(after, ran.app.name) == expected_s


def test_executions_under_perf_c2c_are_told_beside_the_runs(tmp_path: Path) -> None:
    root = build_tree(tmp_path, HYBRID)
    asked = paper(collect=("perf", "c2c"))
    first = asked.apps[0]
    sharing = replace(asked, apps=(replace(first, app=replace(first.app, c2c=True)),))
    cases = len(outline(root, sharing).plan.cases)
    line = f"after the runs {cases} cases once more, under perf c2c"
    assert line in outline(root, sharing).summary()
    for other in (asked, replace(sharing, collect=("perf",))):
        assert not any("c2c" in text for text in outline(root, other).summary())


def test_an_e_core_is_expected_to_take_as_much_longer_as_its_frequency_is_lower(
    tmp_path: Path,
) -> None:
    root = build_tree(tmp_path, HYBRID)
    rows = [row for table in outline(root, paper()).tables() for row in table["rows"]]
    one = {
        row["mapping"]: row["estimate_s"] for row in rows if (row["threads"], row["app"]) == (1, LU)
    }
    assert one["pcores-pin"] == pytest.approx(one["unpinned"])
    # Favoured P-cores (6.0 GHz) are two of eight: the median of the P-cores counts.
    assert one["ecores-pin"] / one["pcores-pin"] == pytest.approx(5.7 / 4.4)
    for file in (root / "sys/devices/system/cpu/cpufreq").glob("*/cpuinfo_max_freq"):
        file.unlink()
    rows = [row for table in outline(root, paper()).tables() for row in table["rows"]]
    alike = {row["estimate_s"] for row in rows if (row["threads"], row["app"]) == (1, LU)}
    assert len(alike) == 1


def test_the_plan_for_a_recorded_node_names_no_journal_of_this_machine(tmp_path: Path) -> None:
    machine = open_machine(build_tree(tmp_path, HYBRID), None)
    lines = machine.outlook(machine.plan(paper()))
    assert any("performance: set for the CPUs of each case" in line for line in lines)
    assert "journal" not in " ".join(lines)


def test_only_a_program_with_such_loops_is_titled_with_a_schedule(tmp_path: Path) -> None:
    titles = [table["title"] for table in outline(build_tree(tmp_path, HYBRID), paper()).tables()]
    assert not any("schedule" in title for title in titles)
    quick = outline(tmp_path / HYBRID, load_study("quick")).tables()
    assert all(", schedule static" in table["title"] for table in quick)
