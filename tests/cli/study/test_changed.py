"""A study whose program, environment or settings change while it runs, or between two starts."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinstudy.runners.records.reader import read_records
from tests.cli.hybrid_namespace import EPP, GOVERNOR, Namespace, hybrid_namespace
from tests.support.cli import argv, pinstudy
from tests.support.studies import (
    records,
    two_cpus,
    two_kinds,
    write_app,
    write_program,
    write_study,
)
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

SOURCE = """\
#include <stdio.h>
#include <unistd.h>
int main(void) {
  FILE *starts = fopen("starts", "a");
  fputs("x", starts);
  long count = ftell(starts);
  fclose(starts);
  if (count == SWAPS_AT) rename("next", "program");
  usleep(WAITS_US);
}
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder with a study of a program that can be built anew."""
    write_app(tmp_path, "wait", tmp_path / "program", {"only": {"arguments": []}})
    write_two(tmp_path)
    build(tmp_path / "program")
    return tmp_path


def write_two(folder: Path, order: str = "randomised-blocks") -> None:
    mappings = ["unpinned", {"name": "other", "selection": "all", "binding": "set"}]
    write_study(folder, "waits", "wait", "only", mappings=mappings, repetitions=3, order=order)


def build(path: Path, waits_us: int = 1000, swaps_at: int = -1) -> None:
    """Build the program as a new file, and rename it into place, as installers do."""
    source = path.with_suffix(".c")
    text = SOURCE.replace("WAITS_US", str(waits_us)).replace("SWAPS_AT", str(swaps_at))
    source.write_text(text)
    program = path.with_suffix(".new")
    subprocess.run([need_tool("gcc"), "-o", str(program), str(source)], check=True, timeout=HANG_S)
    program.rename(path)


def test_a_program_that_is_built_anew_in_mid_study_stops_it(compiled: Path) -> None:
    build(compiled / "program", swaps_at=3)
    build(compiled / "next", waits_us=2000)
    done = pinstudy(compiled, "run", "waits.yaml", status=1)
    assert f"{compiled}/program has changed while the study ran: 'program' was " in done.stderr
    assert "put it back and start the same command again to continue" in done.stderr
    assert '--fresh, which keeps what was measured, as the "before" of `pinstudy co' in done.stderr
    # The run during the change belongs to neither program.
    assert Counter(r["status"] for r in records(compiled)) == {"ok": 2, "interrupted": 1}
    assert len({r["program_digest"] for r in records(compiled)}) == 1
    assert (compiled / "starts").read_text() == "xxx"


def test_a_run_after_which_its_program_cannot_be_read_is_recorded(compiled: Path) -> None:
    build(compiled / "program", swaps_at=3)
    (compiled / "next").symlink_to("nowhere")
    done = pinstudy(compiled, "run", "waits.yaml", status=1)
    assert "whether it has changed cannot be told: " in done.stderr
    assert [r["status"] for r in records(compiled)] == ["ok", "ok", "interrupted"]
    assert "whether it has changed cannot be told: " in records(compiled)[-1]["reason"]


@pytest.mark.parametrize("order", ["randomised-blocks", "sequential"])
def test_a_second_start_with_another_program_is_refused_until_it_is_back(
    compiled: Path, order: str
) -> None:
    write_two(compiled, order)
    build(compiled / "program", swaps_at=4)
    os.link(compiled / "program", compiled / "first")
    build(compiled / "next", waits_us=2000)
    pinstudy(compiled, "run", "waits.yaml", status=1)

    for command in ("run", "plan"):
        again = pinstudy(compiled, command, "waits.yaml", status=2)
        assert "is not the program that made the runs there: 'program'" in again.stderr
        assert "or start anew with --fresh" in again.stderr
    assert (compiled / "starts").read_text() == "xxxx"

    (compiled / "first").replace(compiled / "program")
    pinstudy(compiled, "run", "waits.yaml", status=0)
    assert Counter(r["status"] for r in records(compiled)) == {"ok": 6, "interrupted": 1}


def test_fresh_keeps_the_runs_of_the_earlier_program_to_compare_with(compiled: Path) -> None:
    pinstudy(compiled, "run", "waits.yaml", status=0)
    (results,) = compiled.glob("results/waits/*")
    (digest,) = {r["program_digest"] for r in records(compiled)}
    # Which files a program is lies beside the records.
    files = json.loads((results / "programs" / f"{digest}.json").read_text())["files"]
    assert files["program"]["path"] == str(compiled / "program")
    expected = subprocess.run(
        ["sha256sum", str(compiled / "program")], capture_output=True, text=True, check=True
    )
    assert files["program"]["sha256"] == expected.stdout.split()[0]
    assert any(part.startswith("libc.") for part in files)

    # A program with the same bytes is the same; of one that cannot be read nothing is told.
    build(compiled / "program")
    pinstudy(compiled, "run", "waits.yaml", status=0)
    assert len(records(compiled)) == 6
    again = pinstudy(compiled, "run", "waits.yaml", status=1, PATH="/nonexistent")
    assert "whether it has changed cannot be told: ldd could not be asked" in again.stderr

    build(compiled / "program", waits_us=50_000)
    before, now = hinted(pinstudy(compiled, "run", "waits.yaml", "--fresh", status=0).stderr)
    assert compiled / now == results
    pinstudy(compiled, "compare", before, now, status=0)
    first, second = (
        {r["program_digest"] for r in read_records(compiled / name / "records")}
        for name in (before, now)
    )
    assert first.isdisjoint(second)


def hinted(stderr: str) -> list[str]:
    """Return the folders that a fresh study says to compare."""
    (hint,) = (line for line in stderr.splitlines() if "pinstudy compare" in line)
    return hint.partition("pinstudy compare ")[2].split()


# A time that depends on a variable that nobody but the program knows.
PROGRAM = """\
#!/bin/sh
exec sleep "0.0${SLOWER:-1}"
"""
SECRET = "correct-horse-battery-staple"
RUN = ("run", "waits.yaml")
MORE = (*RUN, "--repetitions", "4")
NOT_THAT = "the environment is not that of the runs there: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = write_program(tmp_path / "program", PROGRAM)
    write_app(tmp_path, "wait", program, {"only": {"arguments": []}})
    write_study(tmp_path, "waits", "wait", "only", repetitions=2)
    return tmp_path


def test_more_repetitions_in_another_environment_are_refused_until_it_is_as_it_was(
    folder: Path,
) -> None:
    first = {"GONE": "2", "SLOWER": "2", "OMP_STACKSIZE": "1M", "OMP_NUM_THREADS": "4,2"}
    pinstudy(folder, *RUN, status=0, **first)
    pinstudy(folder, *RUN, status=0, SLOWER="1")
    assert len(records(folder)) == 2, "a complete study prints its tables anywhere"
    for second, told in (
        (first | {"NEW": "2"}, "NEW is set, and was not"),
        ({name: first[name] for name in first if name != "GONE"}, "GONE was set, and is not"),
        (first | {"SLOWER": "3"}, "SLOWER has another value"),
        (first | {"OMP_STACKSIZE": "2M"}, "OMP_STACKSIZE was '1M', now '2M'"),
        (first | {"OMP_NUM_THREADS": "4,3"}, "OMP_NUM_THREADS was '1,2', now"),
    ):
        for command in ("run", "plan"):
            again = pinstudy(folder, command, *MORE[1:], status=2, **second)
            (line,) = (line for line in again.stderr.splitlines() if "environment" in line)
            assert f"{NOT_THAT}{told}" in line
            assert "put it back and start the same command again" in line and "--fresh" in line
    assert len(records(folder)) == 2
    pinstudy(folder, *MORE, status=0, **first)
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
    pinstudy(folder, *RUN, status=0)
    again = subprocess.run(
        [*shell, *argv(*MORE)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert again.returncode == 2
    assert f"{NOT_THAT}{told}" in again.stderr
    assert len(records(folder)) == 2


def test_a_study_goes_on_in_another_folder_path_terminal_or_job(folder: Path) -> None:
    pinstudy(folder, *RUN, status=0, TERM="xterm", SLURM_JOB_ID="1")
    (folder / "elsewhere").mkdir()
    session = {"TERM": "screen", "SSH_TTY": "/dev/pts/9", "XDG_SESSION_ID": "77", "SHLVL": "5"}
    job = {"SLURM_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": "3", "TMPDIR": "/tmp", "HOSTNAME": "n7"}
    path = {"PATH": f"{os.environ['PATH']}:/opt/venv/bin"}
    there = ("run", "../waits.yaml", "--results", "../results", "--repetitions", "4")
    pinstudy(folder / "elsewhere", *there, status=0, **session, **job, **path)
    assert len(records(folder)) == 4
    shown = " ".join(pinstudy(folder, "tables", "results/waits", status=0).stdout.split())
    # What is refused by nobody is told under the tables.
    assert "inherited unlike variables: " in shown
    assert "working directory was '" in shown
    assert "PATH got '/opt/venv/bin'" in shown


def test_fresh_starts_anew_in_another_environment_and_compare_names_it(folder: Path) -> None:
    pinstudy(folder, *RUN, status=0)
    before, now = hinted(pinstudy(folder, *RUN, "--fresh", status=0, SLOWER="2").stderr)
    compared = pinstudy(folder, "compare", before, now, "--json", status=0)
    differences = json.loads(compared.stdout)["differences"]
    told = {(row["fact"], row["changes"]) for row in differences}
    assert ("inherited variables", "SLOWER is set, and was not") in told


def test_of_variables_that_are_no_known_settings_a_digest_is_kept(folder: Path) -> None:
    pinstudy(folder, *RUN, status=0, HOUSE=SECRET, OMP_STACKSIZE="1M")
    (kept,) = folder.glob("results/waits/*/environments/*.json")
    variables = json.loads(kept.read_text())["variables"]
    assert variables["OMP_STACKSIZE"] == "1M"
    assert variables["HOUSE"].startswith("sha256:")
    assert kept.stem == records(folder)[0]["environment_digest"]
    for path in folder.joinpath("results").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    # Without them another environment is refused all the same.
    for spoilt in ("", "[]", '{"variables": 1}'):
        kept.write_text(spoilt)
        again = pinstudy(folder, *MORE, status=2, SLOWER="2")
        assert "which variables differ is not known" in again.stderr


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


@pytest.fixture
def node(folder: Path) -> Iterator[Namespace]:
    two_cpus()
    write_power_limits(folder, 125)
    with hybrid_namespace(folder, folder / "classes") as namespace:
        yield namespace


@pytest.mark.parametrize("governor", ["current", "performance"])
def test_more_repetitions_under_other_settings_are_refused_until_they_are_put_back(
    node: Namespace, governor: str
) -> None:
    write_study(node.folder, "waits", "wait", "only", governors=governor, repetitions=2)
    kinds = two_kinds()
    node.run(*RUN, *kinds, status=0)
    cpu = min(int(path.name.removeprefix("policy")) for path in node.cpufreq.iterdir())

    def refused(told: str) -> None:
        again = node.run(*MORE, *kinds, status=2)
        assert "settings are not those of the runs there: " in again.stderr
        assert told in again.stderr and "put it back and start" in again.stderr

    for name, before, value, told in (
        (EPP, "balance_performance", "performance", "EPP was 'balance_performance', now 'perform"),
        ("scaling_max_freq", "5600000", "2000000", "highest frequency (kHz) was '5600000 on 0"),
        ("scaling_min_freq", "400000", "800000", "lowest frequency (kHz) was '400000 on 0"),
    ):
        node.put(cpu, name, value)
        refused(told)
        node.put(cpu, name, before)
    write_power_limits(node.folder, 65)
    refused("PL1 of package-0 (W) was '125', now '65'")
    write_power_limits(node.folder, 125)
    if governor == "current":
        for policy in node.cpufreq.iterdir():
            (policy / GOVERNOR).write_text("performance\n")
        refused("governor was 'powersave', now 'performance'")
        for policy in node.cpufreq.iterdir():
            (policy / GOVERNOR).write_text("powersave\n")
    assert len(records(node.folder)) == 2
    node.run(*MORE, *kinds, status=0)
    assert len(records(node.folder)) == 4
