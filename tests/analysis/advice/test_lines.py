"""Ready lines for each tool: a shell, or the tool, gives the program its words and its CPUs."""

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

from pinstudy.analysis.advice.lines import Line, Start, ready_lines
from pinstudy.configs.settings import NAMES, Settings, settings_of
from tests.support.golden import GoldenFile
from tests.support.tools import ROOT, need_tool
from tests.support.wait import HANG_S

APP = ("/home/user/app", "-n", "100")
PINNED = Start(APP, 4, "pin", "omp-places", (6, 0, 2, 4), openmp=True)
CONFINED = Start(APP, 4, "set", "taskset", (0, 2, 4, 6), openmp=True)
LEFT = Start(APP, 4, "none", None, tuple(range(16)), openmp=True)
# A program without OpenMP.
PLAIN = Start(APP, 1, "set", "taskset", (6, 7), openmp=False)
# Whatever may be in a command: all but NUL, and surrogates, of which only bytes of files are made.
WORDS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
STARTING = ("environment", "taskset", "likwid-pin", "srun", "systemd-run")


def lines_of(start: Start) -> Mapping[str, Line]:
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
    texts = [f"{tool}: {line.text}  # {line.note}\n" for tool, line in lines_of(start).items()]
    assert "".join(texts) == snapshot(extension_class=GoldenFile)


@pytest.mark.parametrize(
    ("start", "tool", "begin"),
    [
        # Variables that the runs had not are taken out; counts of nested regions are theirs.
        (replace(LEFT, removed=("GOMP_CPU_AFFINITY", "OMP_NUM_THREADS")), "environment",
         "env -u GOMP_CPU_AFFINITY OMP_NUM_THREADS=4 "),
        (replace(LEFT, nested=",2"), "environment", "env OMP_NUM_THREADS=4,2 "),
        # A program without OpenMP is given no variables of it, unless thread counts raced.
        (replace(PLAIN, binding="pin", cpus=(6,), counted=False), "environment", ""),
        (replace(PLAIN, binding="pin", cpus=(6,), counted=False), "taskset", "taskset -c 6 /home/"),
        (PLAIN, "environment", ""),
        (PLAIN, "taskset", "env OMP_NUM_THREADS=1 taskset -c 6-7 /home/"),
        # Variables of the study's files are set, and tell threads in the program's way.
        (replace(PLAIN, threads=2, told_by_openmp=False,
                 others=(("OPENBLAS_NUM_THREADS", "2"), ("MODE", "a b;c"))), "taskset",
         "env OPENBLAS_NUM_THREADS=2 MODE='a b;c' taskset -c 6-7 /home/"),
        (replace(PLAIN, told_by_openmp=False, counted=False, others=(("MODE", "fast"),)), "taskset",
         "env MODE=fast taskset -c 6-7 /home/"),
        # Threads that share a CPU, and words with blanks, are none for likwid-pin.
        (replace(PINNED, cpus=(0, 0, 2, 2)), "likwid-pin", ""),
        *((replace(PINNED, program=("/bin/app", word)), "likwid-pin", "")
          for word in ("two words", "", "a\tb")),
    ],
)  # fmt: skip
def test_a_line_has_what_the_runs_had(start: Start, tool: str, begin: str) -> None:
    text = lines_of(start)[tool].text
    assert text.startswith(begin) if begin else text == ""


def test_several_pinned_threads_without_openmp_are_for_likwid_pin_alone() -> None:
    several = lines_of(Start(APP, 2, "pin", "likwid-pin", (6, 4), openmp=False))
    assert [tool for tool, line in several.items() if line.text] == ["likwid-pin"]


def test_each_setting_of_the_case_has_its_line() -> None:
    asked = {
        "epp": "power", "max_frequency": "2.4 GHz", "min_frequency": "lowest", "turbo": "off",
        "power_limit": "65 W", "cache_aware": "on", "energy_aware": "off", "itmt": "on",
        "sched_ext": "scx_lavd --fast",
    }  # fmt: skip
    lines = lines_of(replace(PINNED, settings=settings_of(**asked)))
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
    assert not set(NAMES) & set(lines_of(PINNED))


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
    line = lines_of(replace(PINNED, settings=Settings(((name, value),))))[name]
    assert (line.text, line.note) == ("", f"set {name} to {value}; no line is known for it")


def test_no_name_or_value_of_a_setting_is_a_command() -> None:
    line = lines_of(replace(PINNED, settings=settings_of(epp="x; reboot")))["epp"].text
    assert shlex.split(line)[:2] == ["echo", "x; reboot"]
    assert "governor" not in lines_of(replace(PINNED, governor="x; reboot"))
    assert not {"governor", "governor by cpupower"} & set(lines_of(PINNED))


@given(st.lists(WORDS, max_size=4), st.sampled_from([PINNED, CONFINED, LEFT]))
def test_a_shell_gives_the_program_its_own_words(arguments: list[str], start: Start) -> None:
    words = [word for word in arguments if word.isprintable()]
    lines = lines_of(replace(start, program=("/bin/a;b", *words)))
    for tool in STARTING:
        text = lines[tool].text if tool in lines else ""
        # systemd-run is given dollars twice.
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
    found = masks(lines_of(pinned)[tool].text, tmp_path)
    assert found == [[cpu] for cpu in backwards]
    if tool != "likwid-pin":
        confined = Start(program, count, "set", "taskset", (allowed[0],), openmp=True)
        assert masks(lines_of(confined)[tool].text, tmp_path) == [[allowed[0]]] * count
    assert sorted(path.name for path in tmp_path.iterdir()) == [Path(program[0]).name]


def test_a_line_that_binds_nothing_leaves_every_cpu(
    program: tuple[str, ...], tmp_path: Path
) -> None:
    every = sorted(os.sched_getaffinity(0))
    left = Start(program, 3, "none", None, tuple(every), openmp=True)
    assert masks(lines_of(left)["environment"].text, tmp_path) == [every] * 3
