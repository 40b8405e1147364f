from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from analysis.advice.lines import Line, Start, ready_lines
from configs.settings import NAMES, Settings, settings_of
from tests.support.golden import GoldenFile
from tests.support.tools import ROOT, need_tool
from tests.support.wait import HANG_S

APP = ("/home/user/app", "-n", "100")
PINNED = Start(APP, 4, "pin", "omp-places", (6, 0, 2, 4), openmp=True)
CONFINED = Start(APP, 4, "set", "taskset", (0, 2, 4, 6), openmp=True)
LEFT = Start(APP, 4, "none", None, tuple(range(16)), openmp=True)
# Whatever may be in a command: all but NUL, and surrogates, of which only bytes of files are made.
WORDS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
STARTING = ("environment", "taskset", "likwid-pin", "srun", "systemd-run")


def of(start: Start) -> Mapping[str, Line]:
    return {line.tool: line for line in ready_lines(start)}


@pytest.mark.parametrize(
    "start",
    [
        replace(PINNED, governor="performance", before="powersave"),
        replace(CONFINED, node_cpus=16),
        replace(LEFT, schedule="dynamic,4", wait_policy="active"),
    ],
    ids=["pinned", "confined", "left"],
)
def test_lines_of_every_tool(start: Start, snapshot: SnapshotAssertion) -> None:
    texts = [f"{tool}: {line.text}  # {line.note}\n" for tool, line in of(start).items()]
    assert "".join(texts) == snapshot(extension_class=GoldenFile)


def test_systemd_run_is_given_dollars_twice() -> None:
    line = of(replace(CONFINED, program=("/opt/a$b", "$HOME", "5%")))["systemd-run"].text
    assert shlex.split(line)[-3:] == ["/opt/a$b", "$$HOME", "5%"]


def test_a_governors_name_that_is_none_is_not_put_into_a_command() -> None:
    assert "governor" not in of(replace(PINNED, governor="x; reboot"))
    assert not {"governor", "governor by cpupower"} & set(of(PINNED))


def test_each_setting_of_the_case_has_its_line() -> None:
    asked = {
        "epp": "power", "max_frequency": "2.4 GHz", "min_frequency": "lowest", "turbo": "off",
        "power_limit": "65 W", "cache_aware": "on", "energy_aware": "off", "itmt": "on",
        "sched_ext": "scx_lavd --fast",
    }  # fmt: skip
    lines = of(replace(PINNED, settings=settings_of(**asked)))
    cpus = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq"
    assert {name: lines[name].text for name in NAMES} == {
        "epp": f"echo power | tee {cpus}/energy_performance_preference",
        "max_frequency": f"echo 2400000 | tee {cpus}/scaling_max_freq",
        "min_frequency": f"for cpu in {cpus}; do "
        "cat $cpu/cpuinfo_min_freq > $cpu/scaling_min_freq; done",
        "turbo": "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
        "power_limit": "for zone in /sys/class/powercap/intel-rapl:? "
        "/sys/class/powercap/intel-rapl-mmio:?; do grep -qs package $zone/name "
        "&& echo 65000000 > $zone/constraint_0_power_limit_uw; done",
        "cache_aware": "echo 1 > /sys/kernel/debug/sched/llc_balancing/enabled",
        "energy_aware": "sysctl kernel.sched_energy_aware=0",
        "itmt": "sysctl kernel.sched_itmt_enabled=1",
        "sched_ext": "scx_lavd --fast",
    }
    assert "echo 0 > /sys/devices/system/cpu/cpufreq/boost" in lines["turbo"].note
    assert not set(NAMES) & set(of(PINNED))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uncore_frequency", "2 GHz"),
        ("power_limit", "x W"),
        ("power_limit", "1e999 W"),
        ("turbo", "x; reboot"),
        ("max_frequency", "$(reboot)"),
    ],
)
def test_a_setting_without_a_line_is_told_in_words(name: str, value: str) -> None:
    line = of(replace(PINNED, settings=Settings(((name, value),))))[name]
    assert (line.text, line.note) == ("", f"set {name} to {value}; no line is known for it")


def test_no_value_of_a_setting_is_a_command() -> None:
    line = of(replace(PINNED, settings=settings_of(epp="x; reboot")))["epp"].text
    assert shlex.split(line)[:2] == ["echo", "x; reboot"]


def test_variables_that_the_runs_had_not_are_taken_out() -> None:
    line = of(replace(LEFT, removed=("GOMP_CPU_AFFINITY", "OMP_NUM_THREADS")))["environment"].text
    assert line.startswith("env -u GOMP_CPU_AFFINITY OMP_NUM_THREADS=4 ")


def test_a_program_without_openmp_is_not_given_its_variables() -> None:
    one = Start(APP, 1, "pin", "taskset", (6,), openmp=False, counted=False)
    assert not of(one)["environment"].text
    assert of(one)["taskset"].text == "taskset -c 6 /home/user/app -n 100"
    several = Start(APP, 2, "pin", "likwid-pin", (6, 4), openmp=False)
    assert [tool for tool, line in of(several).items() if line.text] == ["likwid-pin"]


def test_an_unknown_program_gets_omp_num_threads_if_thread_counts_raced() -> None:
    one = Start(APP, 1, "set", "taskset", (6, 7), openmp=False)
    assert not of(one)["environment"].text
    assert of(one)["taskset"].text == ("env OMP_NUM_THREADS=1 taskset -c 6-7 /home/user/app -n 100")


def test_a_line_sets_the_variables_of_the_study_and_tells_threads_in_the_programs_way() -> None:
    own = replace(
        Start(APP, 2, "set", "taskset", (6, 7), openmp=False),
        others=(("OPENBLAS_NUM_THREADS", "2"), ("MODE", "a b;c")),
        told_by_openmp=False,
    )
    assert of(own)["taskset"].text == (
        "env OPENBLAS_NUM_THREADS=2 MODE='a b;c' taskset -c 6-7 /home/user/app -n 100"
    )
    # Variables of the study's files are set for a program without OpenMP, too.
    one = replace(own, threads=1, counted=False, others=(("MODE", "fast"),))
    assert of(one)["taskset"].text == "env MODE=fast taskset -c 6-7 /home/user/app -n 100"


def test_a_line_has_the_counts_of_nested_regions_that_the_runs_had() -> None:
    line = of(replace(LEFT, nested=",2"))["environment"].text
    assert "OMP_NUM_THREADS=4,2 " in line


def test_threads_that_share_a_cpu_are_none_for_likwid_pin() -> None:
    assert not of(replace(PINNED, cpus=(0, 0, 2, 2)))["likwid-pin"].text


def test_words_with_blanks_are_none_for_likwid_pin() -> None:
    for word in ("two words", "", "a\tb"):
        assert "blanks" in of(replace(PINNED, program=("/bin/app", word)))["likwid-pin"].note


@given(st.lists(WORDS, max_size=4), st.sampled_from([PINNED, CONFINED, LEFT]))
def test_a_shell_gives_the_program_its_own_words(arguments: list[str], start: Start) -> None:
    words = [word for word in arguments if word.isprintable()]
    lines = of(replace(start, program=("/bin/a;b", *words)))
    for tool in STARTING:
        text = lines[tool].text if tool in lines else ""
        wanted = [word.replace("$", "$$") for word in words] if tool == "systemd-run" else words
        if text:
            assert shlex.split(text)[-1 - len(words) :] == ["/bin/a;b", *wanted]


def masks(line: str, folder: Path) -> list[list[int]]:
    """Return the CPUs that each thread of the program may use when a shell runs the line."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "OMP_"}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=HANG_S, check=True,
    )  # fmt: skip
    data: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return [thread["allowed"] for thread in data["team"]["threads"]]


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    """A program that tells its threads' masks, under a name that a shell would run."""
    built = need_tool(str(ROOT / "build/bin/threadmap-libgomp"))
    link = tmp_path / "a=b;touch${IFS}x;$(y)'z'\a&"
    link.symlink_to(built)
    return (str(link), "--team-only", "--json", "--duration", "0.02")


@pytest.mark.parametrize("tool", ["environment", "taskset", "likwid-pin"])
def test_a_line_puts_threads_where_it_says(
    tool: str, program: tuple[str, ...], tmp_path: Path
) -> None:
    if tool != "environment":
        need_tool(tool)
    allowed = sorted(os.sched_getaffinity(0))[:2]
    backwards = tuple(reversed(allowed))
    count = len(allowed)
    pinned = Start(program, count, "pin", "omp-places", backwards, openmp=True)
    found = masks(of(pinned)[tool].text, tmp_path)
    assert found == [[cpu] for cpu in backwards]
    if tool != "likwid-pin":
        confined = Start(program, count, "set", "taskset", (allowed[0],), openmp=True)
        assert masks(of(confined)[tool].text, tmp_path) == [[allowed[0]]] * count
    assert sorted(path.name for path in tmp_path.iterdir()) == [Path(program[0]).name]


def test_a_line_that_binds_nothing_leaves_every_cpu(
    program: tuple[str, ...], tmp_path: Path
) -> None:
    every = sorted(os.sched_getaffinity(0))
    left = Start(program, 3, "none", None, tuple(every), openmp=True)
    assert masks(of(left)["environment"].text, tmp_path) == [every] * 3
