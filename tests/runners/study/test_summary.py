"""What a study will take is told before it starts, and what to change where nothing can run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinstudy.configs.library import load_study
from pinstudy.configs.overrides import Overrides
from pinstudy.configs.repetitions import Race
from pinstudy.configs.settings import SettingFactors
from pinstudy.configs.study import IdlePower, Study, TemperatureGate
from pinstudy.runners.study.history import History
from pinstudy.runners.study.machine import open_machine
from pinstudy.runners.study.remedy import remedy
from pinstudy.runners.study.summary import PlanSummary
from tests.runners.power_pmu_trees import power_pmu_tree
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree
from tests.support.trees import build_tree, write

HYBRID = "i9-14900k-noht"
# Three cases of the published study under each of two governors, of 10 repetitions and a warm-up.
MAPPINGS = ("unpinned", "pcores-pin", "ecores-pin")
PAPER = load_study("paper", Overrides(only=("lu-ompscr",), mappings=MAPPINGS))


def paper(**changes: object) -> Study:
    return replace(PAPER, **changes)  # type: ignore[arg-type]


def outline(root: Path, study: Study) -> PlanSummary:
    return open_machine(root, None).summary(study, root / "results")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A hybrid node without energy counters."""
    return build_tree(tmp_path, HYBRID)


@pytest.fixture
def metered(tmp_path: Path, node: Path) -> Path:
    """The node with energy counters."""
    (node / "proc/cpuinfo").unlink(missing_ok=True)
    powercap = powercap_tree(tmp_path / "powercap", INTEL_CLIENT)
    (node / "sys/class").mkdir(exist_ok=True)
    (powercap / "sys/class/powercap").rename(node / "sys/class/powercap")
    return node


TURBO = SettingFactors(turbo=("on", "off"))


@pytest.mark.parametrize(
    ("changes", "count", "line"),
    [
        # 33 runs under each governor: before runs 1, 11, 21 and 31.
        ({"idle_power": IdlePower(10.0, 10)}, 8, "governor and every 10 runs"),
        ({"idle_power": IdlePower(10.0)}, 2, "governor"),
        ({"idle_power": IdlePower(10.0), "settings": TURBO}, 4, "combination of settings"),
    ],
)
def test_idle_measurements_are_counted_and_their_time_is_forecast(
    metered: Path, changes: dict[str, object], count: int, line: str
) -> None:
    without = outline(metered, paper(**changes | {"idle_power": None}))
    found = outline(metered, paper(**changes))
    assert (without.idle_measurements, found.idle_measurements) == (0, count)
    assert without.left_s is not None
    assert found.left_s == pytest.approx(without.left_s + 10 * count)
    told = found.as_json()
    assert (told["idle_measurements"], told["expected_s"]) == (count, found.left_s)
    before = "idle measurements of 10 s: before the first run under each"
    assert f"{count} {before} {line}" in found.summary()
    assert not any("idle" in text for text in without.summary())


def test_the_power_pmu_is_a_source_too(tmp_path: Path, node: Path) -> None:
    asked = paper(idle_power=IdlePower(10.0))
    assert outline(node, asked).idle_measurements == 0
    pmu = power_pmu_tree(tmp_path / "pmu")
    (node / "sys/bus/event_source/devices").mkdir(parents=True, exist_ok=True)
    (pmu / "sys/bus/event_source/devices/power").rename(node / "sys/bus/event_source/devices/power")
    assert outline(node, asked).idle_measurements == 2


@pytest.mark.parametrize(
    ("tree", "collect"), [("metered", ("perf",)), ("node", ("perf", "energy"))]
)
def test_where_energy_is_not_measured_no_time_is_set_aside(
    request: pytest.FixtureRequest, tree: str, collect: tuple[str, ...]
) -> None:
    root = request.getfixturevalue(tree)
    found = outline(root, paper(collect=collect))
    assert found.left_s == outline(root, paper(collect=collect, idle_power=None)).left_s
    assert "no idle measurement: the packages' energy cannot be measured" in found.summary()


def test_what_takes_time_beside_the_runs_is_told(node: Path) -> None:
    (choice,) = PAPER.apps
    sharing = replace(choice, app=replace(choice.app, c2c=True))
    extras = {"prove": True, "temperature_gate": TemperatureGate(5.0, 120.0), "apps": (sharing,)}
    usual = outline(node, paper(idle_power=None, apps=(sharing,), collect=("perf",)))
    more = outline(node, paper(idle_power=None, **extras, collect=("perf", "c2c")))
    assert set(more.summary()) - set(usual.summary()) == {
        "before the runs the node's instruments are tested, once a boot",
        "before each run up to 2 min 00 s for packages to cool",
        "after the runs 6 cases once more, under perf c2c",
    }
    # An app that shares no lines is not looked at.
    assert not any("c2c" in text for text in outline(node, paper(collect=("c2c",))).summary())


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        # The reference's warm-up run, and a run of each of the six cases.
        ({"runs": "any"}, "7 runs or more; expected time: at most 5 min 00 s"),
        ({}, "; expected time: at most 5 min 00 s"),
    ],
)
def test_a_race_is_limited_by_its_time(node: Path, rule: dict[str, Any], line: str) -> None:
    race = Race("time", time_budget_s=300.0, **rule)
    (*_, last) = outline(node, paper(race=race, idle_power=None, warmup=1)).summary()
    assert last.endswith(line) and (not rule or last == line)


def estimates_s(plan: PlanSummary) -> dict[str, float]:
    """Return the estimates of a plan's rows under the first governor, by mapping."""
    rows = [row for table in plan.tables() for row in table["rows"]]
    return {row["mapping"]: row["estimate_s"] for row in rows if row["governor"] == "performance"}


def test_the_rows_of_a_plan_are_corrected_by_a_run_as_the_expected_time_is(node: Path) -> None:
    hinted = outline(node, paper(idle_power=None))
    hints_s = estimates_s(hinted)
    after = replace(hinted, history=History())
    record = {"case_id": hinted.plan.cases[0].case_id, "status": "ok", "repetition": 1}
    after.history.add(record | {"elapsed_s": hints_s["unpinned"] / 10})
    assert estimates_s(after) == pytest.approx({name: s / 10 for name, s in hints_s.items()})


def test_an_e_core_is_expected_to_be_slower_as_its_frequency_is_lower(node: Path) -> None:
    found_s = estimates_s(outline(node, PAPER))
    assert found_s["pcores-pin"] == pytest.approx(found_s["unpinned"])
    # Favoured P-cores (6.0 GHz) are two of eight: the median of the P-cores counts.
    assert found_s["ecores-pin"] / found_s["pcores-pin"] == pytest.approx(5.7 / 4.4)
    for file in (node / "sys/devices/system/cpu/cpufreq").glob("*/cpuinfo_max_freq"):
        file.unlink()
    assert len(set(estimates_s(outline(node, PAPER)).values())) == 1


def test_the_plan_for_a_recorded_node_names_no_journal_of_this_machine(node: Path) -> None:
    machine = open_machine(node, None)
    lines = machine.outlook(machine.plan(PAPER))
    assert any("performance: set for the CPUs of each case" in line for line in lines)
    assert "journal" not in " ".join(lines)


def test_only_a_program_with_such_loops_is_titled_with_a_schedule(node: Path) -> None:
    assert not any("schedule" in table["title"] for table in outline(node, PAPER).tables())
    quick = outline(node, load_study("quick")).tables()
    assert all(", schedule static" in table["title"] for table in quick)


@pytest.mark.parametrize("name", ["paper", "paper-own", "paper-serial", "paper-own-parallel"])
def test_a_node_without_governors_is_told_to_leave_them(tmp_path: Path, name: str) -> None:
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    assert not machine.plan(load_study(name)).cases
    able = machine.plan(load_study(name, Overrides(governors=("current",)))).cases
    told = f"add --governors current: {len(able)} cases can run then"
    assert remedy(machine, load_study(name)) == told


def test_what_helps_where_nothing_can_run_is_told_with_what_was_asked(tmp_path: Path) -> None:
    # Guests of eight CPUs, on a node of two: no option helps, but another study.
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    able = len(machine.plan(load_study("vm")).cases)
    told = remedy(machine, load_study("paper-own-vm"))
    assert told == f"`pinstudy run vm` has {able} cases that can run"
    # Options that were given stand beside those that help.
    given = Overrides(mappings=("ecores-pin",), only=("mandelbrot",))
    told = remedy(machine, load_study("quick", given), ("--fresh",))
    assert told.startswith("add --mappings unpinned,") and " --fresh: " in told


def test_a_node_that_has_another_governor_is_told_so(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    for file in root.glob("sys/devices/system/cpu/cpufreq/policy*"):
        for name in ("scaling_available_governors", "scaling_governor"):
            write(root, f"{file.relative_to(root)}/{name}", "schedutil")
    assert remedy(open_machine(root, None), load_study("paper-own")).startswith("add --governors")
