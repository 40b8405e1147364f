"""A study that goes on in another environment, or under other settings, than it began in."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pinstudy.hybrid_namespace import EPP, Namespace, hybrid_namespace
from tests.support.cli import argv, pinstudy
from tests.support.studies import (
    records,
    two_cpus,
    two_kinds,
    write_app,
    write_program,
    write_study,
)

# A time that depends on a variable that nobody but the program knows.
PROGRAM = """\
#!/bin/sh
exec sleep "0.0${SLOWER:-1}"
"""
SECRET = "correct-horse-battery-staple"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = write_program(tmp_path / "program", PROGRAM)
    write_app(tmp_path, "wait", program, {"only": {"arguments": []}})
    write_study(tmp_path, "waits", "wait", "only", repetitions=2)
    return tmp_path


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({}, {"SLOWER": "2"}, "SLOWER is set, and was not"),
        ({"SLOWER": "2"}, {}, "SLOWER was set, and is not"),
        ({"SLOWER": "2"}, {"SLOWER": "3"}, "SLOWER has another value"),
        ({"OMP_STACKSIZE": "1M"}, {"OMP_STACKSIZE": "2M"}, "OMP_STACKSIZE was '1M', now '2M'"),
        ({"OMP_NUM_THREADS": "4,2"}, {"OMP_NUM_THREADS": "4,3"}, "OMP_NUM_THREADS was '1,2', now"),
        ({}, {"MALLOC_ARENA_MAX": "1"}, "MALLOC_ARENA_MAX was not set, now '1'"),
    ],
)
def test_more_repetitions_in_another_environment_are_refused_until_it_is_as_it_was(
    folder: Path, first: dict[str, str], second: dict[str, str], told: str
) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0, **first)
    write_study(folder, "waits", "wait", "only", repetitions=4)
    for command in ("run", "plan"):
        again = pinstudy(folder, command, "waits.yaml", status=2, **second)
        (line,) = (line for line in again.stderr.splitlines() if "environment" in line)
        assert f"the environment is not that of the runs there: {told}" in line
        assert "put it back and start the same command again" in line and "--fresh" in line
    assert len(records(folder)) == 2

    pinstudy(folder, "run", "waits.yaml", status=0, **first)
    assert len(records(folder)) == 4
    assert len({record["environment_digest"] for record in records(folder)}) == 1


@pytest.mark.parametrize(
    ("shell", "told"),
    [
        (["sh", "-c", 'ulimit -s 4096; exec "$@"', "sh"], "ulimit -s was '"),
        (["setarch", "-R"], "address randomisation was 'on', now 'off'"),
    ],
    ids=["stack", "addresses"],
)
def test_more_repetitions_in_another_layout_of_memory_are_refused(
    folder: Path, shell: list[str], told: str
) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    again = subprocess.run(
        [*shell, *argv("run", "waits.yaml", "--repetitions", "4")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 2
    assert f"the environment is not that of the runs there: {told}" in again.stderr
    assert len(records(folder)) == 2


def test_another_working_directory_is_told_under_the_tables_and_refused_by_nobody(
    folder: Path,
) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    (folder / "elsewhere").mkdir()
    pinstudy(
        folder / "elsewhere",
        *("run", "../waits.yaml", "--results", "../results", "--repetitions", "4"),
        status=0,
    )
    assert len(records(folder)) == 4
    (results,) = folder.glob("results/waits/*/")
    shown = " ".join(pinstudy(folder, "tables", str(results), status=0).stdout.split())
    assert "inherited unlike variables: working directory was '" in shown


def test_fresh_starts_anew_in_another_environment_and_compare_names_it(folder: Path) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    fresh = pinstudy(folder, "run", "waits.yaml", "--fresh", status=0, SLOWER="2")
    (hint,) = (line for line in fresh.stderr.splitlines() if "pinstudy compare" in line)
    before, now = hint.partition("pinstudy compare ")[2].split()
    compared = pinstudy(folder, "compare", before, now, "--json", status=0)
    differences = json.loads(compared.stdout)["differences"]
    told = {(row["fact"], row["changes"]) for row in differences}
    assert ("inherited variables", "SLOWER is set, and was not") in told


@pytest.mark.parametrize(
    "session",
    [
        {"TERM": "screen", "SSH_TTY": "/dev/pts/9", "XDG_SESSION_ID": "77", "SHLVL": "5"},
        {"SLURM_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": "3", "TMPDIR": "/tmp", "HOSTNAME": "n7"},
    ],
    ids=["terminal", "job"],
)
def test_a_study_goes_on_from_another_terminal_and_as_a_job(
    folder: Path, session: dict[str, str]
) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0, TERM="xterm", SLURM_JOB_ID="1")
    pinstudy(folder, "run", "waits.yaml", "--repetitions", "4", status=0, **session)
    assert len(records(folder)) == 4


def test_who_asks_again_for_the_tables_of_a_complete_study_may_do_so_anywhere(
    folder: Path,
) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    pinstudy(folder, "run", "waits.yaml", status=0, SLOWER="2")
    assert len(records(folder)) == 2


def test_values_of_variables_that_are_no_known_settings_land_in_no_file(folder: Path) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0, HOUSE=SECRET, OMP_STACKSIZE="1M")
    (kept,) = folder.glob("results/waits/*/environments/*.json")
    variables = json.loads(kept.read_text())["variables"]
    assert variables["OMP_STACKSIZE"] == "1M"
    assert variables["HOUSE"].startswith("sha256:")
    assert kept.stem == records(folder)[0]["environment_digest"]
    for path in folder.joinpath("results").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("spoil", ["", "[]", '{"variables": 1}'])
def test_without_the_variables_of_then_another_environment_is_refused_all_the_same(
    folder: Path, spoil: str
) -> None:
    pinstudy(folder, "run", "waits.yaml", status=0)
    (kept,) = folder.glob("results/waits/*/environments/*.json")
    kept.write_text(spoil)
    again = pinstudy(folder, "run", "waits.yaml", "--repetitions", "4", status=2, SLOWER="2")
    assert "which variables differ is not known" in again.stderr


@pytest.fixture
def node(folder: Path) -> Iterator[Namespace]:
    two_cpus()
    with hybrid_namespace(folder) as namespace:
        yield namespace


def first_cpu(node: Namespace) -> int:
    return min(int(path.name.removeprefix("policy")) for path in node.cpufreq.iterdir())


@pytest.mark.parametrize("governor", ["current", "performance"])
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (EPP, "performance", "EPP was 'balance_performance', now 'performance"),
        ("scaling_max_freq", "2000000", "highest frequency (kHz) was '5600000 on 0"),
        ("scaling_min_freq", "800000", "lowest frequency (kHz) was '400000 on 0"),
    ],
)
def test_more_repetitions_under_other_settings_are_refused_until_they_are_put_back(
    node: Namespace, governor: str, name: str, value: str, told: str
) -> None:
    write_study(node.folder, "waits", "wait", "only", governors=governor, repetitions=2)
    run = ("run", "waits.yaml", *two_kinds())
    node.run(*run, status=0)
    cpu = first_cpu(node)
    before = (node.cpufreq / f"policy{cpu}" / name).read_text().strip()
    node.put(cpu, name, value)

    again = node.run(*run, "--repetitions", "4", status=2)
    assert "settings are not those of the runs there: " in again.stderr
    assert told in again.stderr and "put it back and start" in again.stderr
    assert len(records(node.folder)) == 2

    node.put(cpu, name, before)
    node.run(*run, "--repetitions", "4", status=0)
    assert len(records(node.folder)) == 4


def write_power_limits(folder: Path, pl1_w: int) -> None:
    """Write a package's limits of power as the kernel shows them, in microwatts."""
    zone = folder / "classes/powercap/intel-rapl:0"
    zone.mkdir(parents=True, exist_ok=True)
    for name, value in {
        "name": "package-0",
        "constraint_0_name": "long_term",
        "constraint_0_power_limit_uw": pl1_w * 10**6,
        "constraint_0_time_window_us": 28 * 10**6,
    }.items():
        (zone / name).write_text(f"{value}\n")


def test_another_power_limit_is_refused_until_it_is_put_back(folder: Path) -> None:
    two_cpus()
    write_power_limits(folder, 125)
    with hybrid_namespace(folder, folder / "classes") as node:
        run = ("run", "waits.yaml", *two_kinds())
        node.run(*run, status=0)
        write_power_limits(folder, 65)
        again = node.run(*run, "--repetitions", "4", status=2)
        assert "PL1 of package-0 (W) was '125', now '65'" in again.stderr
        assert len(records(folder)) == 2
        write_power_limits(folder, 125)
        node.run(*run, "--repetitions", "4", status=0)
    assert len(records(folder)) == 4


def test_another_governor_is_refused_where_a_study_takes_the_one_in_force(
    node: Namespace,
) -> None:
    run = ("run", "waits.yaml", *two_kinds())
    node.run(*run, status=0)
    for policy in node.cpufreq.iterdir():
        (policy / "scaling_governor").write_text("performance\n")
    again = node.run(*run, "--repetitions", "4", status=2)
    assert "governor was 'powersave', now 'performance'" in again.stderr


def test_another_path_is_told_under_the_tables_and_refused_by_nobody(folder: Path) -> None:
    here = os.environ["PATH"]
    pinstudy(folder, "run", "waits.yaml", status=0)
    pinstudy(
        folder, "run", "waits.yaml", "--repetitions", "4", status=0, PATH=f"{here}:/opt/venv/bin"
    )
    assert len(records(folder)) == 4
    (results,) = folder.glob("results/waits/*/")
    shown = " ".join(pinstudy(folder, "tables", str(results), status=0).stdout.split())
    assert "PATH got '/opt/venv/bin'" in shown
