"""A search is found on any node without running anything, and its study is written once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base.errors import ConfigError, StudyError, UserError
from configs.library import load_study
from runners.advise.search import Search, choose_governors, make_search, write_search
from runners.doctor.report import probe
from runners.node.cpufreq import read_cpufreq
from runners.study.machine import Machine, open_machine
from tests.runners.advise.requests import request
from tests.support.programs import built
from tests.support.trees import CPU, build_tree, write

ENVIRONMENT = dict(os.environ)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return open_machine(build_tree(tmp_path_factory.mktemp("node"), "i9-14900k-noht"), None)


def search(node: Machine, *command: str, **options: str) -> Search:
    return make_search(node, request(*command, **options), ENVIRONMENT)


def test_the_plan_of_the_study_is_the_candidates_that_are_shown(node: Machine) -> None:
    made = search(node)
    plan = node.plan(made.study)
    assert not plan.skipped
    assert [
        (case.threads, case.schedule, case.mapping.name, case.governor) for case in plan.cases
    ] == [
        (group.threads, group.schedule, placed.mapping.name, governor)
        for group, placed, governor in made.candidates()
    ]
    assert len(made.rows()) == made.size == len(plan.cases)
    assert made.rows()[0][-1] == "CPUs 0-23: the reference"
    assert [row[-1] for row in made.rows()].count("CPUs 0-7") > 1
    data = made.as_json()
    assert len(data["candidates"]) == made.size
    assert (data["objective"], data["better"], data["helpers"]) == ("time", "lower", 0)
    assert [c["reference"] for c in data["candidates"]].count(True) == 1


def test_the_users_environment_is_no_recorded_nodes(node: Machine) -> None:
    asked = request()
    assert make_search(node, asked, ENVIRONMENT | {"OMP_NUM_THREADS": "2"}).reference.threads == 24


def test_what_was_found_is_told_in_lines(node: Machine) -> None:
    told = dict(search(node, "/bin/sh", "-t{threads}", check="do(ne)?", metric="x=(.)").facts())
    assert "not known" in told["program"]
    assert told["check"] == "stdout has a match of 'do(ne)?'"
    assert told["objective"].startswith("what 'x=(.)' picks of stdout, lower is better")
    assert "thread count" in told["arguments"]
    assert "governors" not in told
    assert "threads" not in told
    by = "OPENBLAS_NUM_THREADS,RAYON_NUM_THREADS"
    assert dict(search(node, threads_by=by).facts())["threads"] == (
        "told by OPENBLAS_NUM_THREADS and RAYON_NUM_THREADS"
    )
    asked = search(node, "/bin/sh", "-t{threads}", threads_by="arguments")
    assert dict(asked.facts())["threads"] == "told by its arguments alone"
    assert dict(search(node, governors="powersave").facts())["governors"] == (
        "current (the reference)"
    )
    assert "no schedules race" in told["loops"]
    forced = dict(search(node, schedules="dynamic,guided").facts())
    assert forced["loops"] == "schedules static, dynamic, guided: what --schedules says"


def test_schedules_that_are_the_same_do_not_race_twice(node: Machine) -> None:
    made = search(node, schedules="static,dynamic")
    assert {group.schedule for group in made.field.groups} == {"static", "dynamic"}
    here = open_machine(Path("/"), None)
    mine = ENVIRONMENT | {"OMP_SCHEDULE": "dynamic,1"}
    first = make_search(here, request(schedules="static,dynamic"), mine)
    assert {group.schedule for group in first.field.groups} == {"static", "dynamic,1"}


def test_waiting_races_where_the_runtime_reads_the_wait_policy(node: Machine) -> None:
    def policies(program: str, mine: str = "", **options: str) -> list[str]:
        here = open_machine(Path("/"), None)
        environment = ENVIRONMENT | ({"OMP_WAIT_POLICY": mine} if mine else {})
        made = make_search(here, request(program, **options), environment)
        return list(dict.fromkeys(group.wait_policy for group in made.field.groups))

    openmp = str(built("mandelbrot-libgomp"))
    assert policies(openmp, threads="2") == ["runtime-default", "active", "passive"]
    assert policies(openmp, "passive", threads="2") == ["passive", "active", "runtime-default"]
    assert policies(openmp, threads="2", wait_policies="none") == ["runtime-default"]
    assert policies(openmp, threads="2", wait_policies="passive") == ["runtime-default", "passive"]
    # A shell is no OpenMP program, and a single thread waits for nobody.
    assert policies("/bin/sh") == ["runtime-default"]
    assert policies(openmp, "passive", threads="1") == ["passive"]
    told = dict(search(node, wait_policies="active").facts())
    assert told["waiting"] == (
        "threads that wait: runtime-default, active race: what --wait-policies says"
    )


def test_the_governors_are_what_is_in_force_and_what_may_be_set(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    now, cpus = read_cpufreq(root), tuple(range(24))
    assert choose_governors(None, now, cpus, lambda *_: None).governors == (
        *("current", "performance"),
    )
    refused = choose_governors(
        None, now, cpus, lambda governor, _: f"the governor {governor} is gone"
    )
    assert refused.governors == ("current",)
    assert "governor performance: is gone" in refused.left_out
    assert "governor powersave: in force already, and so current" in refused.left_out
    asked = choose_governors(["powersave", "performance"], now, cpus, lambda *_: None)
    assert asked.governors == ("current", "performance")
    for cpu in cpus:
        offered = "conservative ondemand performance powersave schedutil"
        write(root, f"{CPU}/cpufreq/policy{cpu}/scaling_available_governors", offered)
    several = choose_governors(None, read_cpufreq(root), cpus, lambda *_: None)
    assert several.governors == ("current", "performance", "schedutil")


def test_a_node_without_frequency_scaling_races_under_what_there_is(tmp_path: Path) -> None:
    made = search(open_machine(build_tree(tmp_path, "kvm-guest"), None))
    assert made.governors.governors == ("current",)
    assert any("no frequency scaling here" in line for line in made.left_out())


def test_the_study_is_written_once_and_kept_with_another_time(
    node: Machine, tmp_path: Path
) -> None:
    study, told = write_search(search(node, time_budget="5 min"), tmp_path / "r", fresh=False)
    path = Path(study.path)
    assert not told
    assert path.parent.name == path.stem
    before = path.stat().st_ino
    write_search(search(node, time_budget="5 min"), tmp_path / "r", fresh=False)
    assert path.stat().st_ino == before
    again, told = write_search(search(node, time_budget="10 min"), tmp_path / "r", fresh=False)
    assert (again.path, again.digest, told) == (study.path, study.digest, [])
    assert again.race
    assert again.race.time_budget_s == 600
    # The file is a study like any other: nothing races in it.
    assert load_study(path).race is None


def test_other_candidates_are_continued_as_they_were(node: Machine, tmp_path: Path) -> None:
    made = search(node)
    path = Path(write_search(made, tmp_path / "r", fresh=False)[0].path)
    mine = path.read_text().replace(" half-clusters-set,", "")
    assert mine != path.read_text()
    path.write_text(mine)
    kept, told = write_search(search(node, runs="20"), tmp_path / "r", fresh=False)
    assert "is continued with its own: --fresh chooses anew" in told[0]
    assert path.read_text() == mine
    assert kept.race
    assert kept.race.runs == 20
    assert kept.digest != made.study.digest
    anew, _ = write_search(made, tmp_path / "r", fresh=True)
    assert anew.digest == made.study.digest


def test_a_file_that_is_no_study_any_more_is_told_with_its_place(
    node: Machine, tmp_path: Path
) -> None:
    path = Path(write_search(search(node), tmp_path / "r", fresh=False)[0].path)
    path.write_text(path.read_text().replace("warmup: 1", "warmup: some"))
    with pytest.raises(ConfigError, match="'some' is not how many runs"):
        write_search(search(node), tmp_path / "r", fresh=False)


def test_a_search_without_another_candidate_is_not_written(node: Machine, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing races here"):
        write_search(search(node, threads="999", governors="current"), tmp_path / "r", fresh=False)
    assert not (tmp_path / "r").exists()


def test_a_place_that_cannot_be_written_is_told(node: Machine, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    with pytest.raises(StudyError, match=r"cannot be written .* expected a folder"):
        write_search(search(node), tmp_path / "r", fresh=False)


def test_energy_is_not_searched_for_where_it_cannot_be_measured() -> None:
    here = open_machine(Path("/"), None)
    (found,) = probe(here.node, live=True, names=("energy",))
    if found.state == "ok":
        assert make_search(here, request(objective="edp"), ENVIRONMENT).study.race
        return
    with pytest.raises(UserError, match=r"energy cannot be measured here: .*pinstudy doctor"):
        make_search(here, request(objective="edp"), ENVIRONMENT)


def test_a_search_has_no_isolated_cpus_in_its_reference(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    write(root, f"{CPU}/isolated", "0-7")
    made = search(open_machine(root, None))
    assert made.reference.threads == 16
    assert {cpu for _, placed, _ in made.candidates() for cpu in placed.cpus} == set(range(8, 24))
    write(root, f"{CPU}/isolated", "0-23")
    with pytest.raises(UserError, match=r"CPUs 0-23 are isolated.*without isolcpus"):
        search(open_machine(root, None))
