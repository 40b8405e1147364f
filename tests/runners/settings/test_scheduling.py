"""Schedulers of sched_ext, energy-aware scheduling and ITMT: put in force, read back, put back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pinstudy.configs.settings import AS_IT_IS, settings_of
from pinstudy.configs.site import SchedulerRule, Site
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.settings import sched_ext
from pinstudy.runners.settings.journal import STUDY, open_journal
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.settings.recovery import restore
from tests.runners.settings.factors import ENERGY_AWARE, ITMT, put_back, text
from tests.support.processes import children, wait_until_gone
from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.trees import CPU, write
from tests.support.wait import until

STATE = "sys/kernel/sched_ext/state"
NAME = "sys/kernel/sched_ext/root/ops"
LOADED = "sys/kernel/sched_ext/enable_seq"
VERSION = "_1.0.19_x86_64_unknown_linux_gnu"
# As the programs of sched-ext/scx: they end on SIGINT, and say why they ended. A file `throw` in
# the tree is what the kernel has against the scheduler.
_PROGRAM = """#!/bin/sh
folder={root}/sys/kernel/sched_ext
echo "$0 $*" >>{root}/started
case "$*" in
*--refused*) echo libbpf: some warning; echo "Error: EXIT: not supported by this kernel"; exit 1;;
*--mute*) exit 3;;
esac
leave() {{
    rm -rf $folder/root
    echo disabled >$folder/state
    echo "$1"
    exit $2
}}
trap 'leave "EXIT: unregistered from user space" 0' INT
mkdir -p $folder/root
echo {name} >$folder/root/ops
echo $(($(cat $folder/enable_seq) + 1)) >$folder/enable_seq
echo enabled >$folder/state
while sleep 0.02; do
    if [ -e {root}/throw ]; then
        rm {root}/throw
        leave "Error: EXIT: runnable task stall (watchdog failed to check in)" 1
    fi
done
"""


def add_sched_ext(root: Path) -> None:
    """Give a tree the files of a kernel with sched_ext, and without a scheduler of it."""
    write(root, STATE, "disabled")
    write(root, LOADED, 0)


def in_force(root: Path) -> str:
    """Return the name of the scheduler in force, `none` without one; empty while one leaves."""
    if (root / STATE).read_text().strip() == "disabled":
        return "none"
    with suppress(FileNotFoundError):
        return (root / NAME).read_text().strip()
    return ""


def started(root: Path) -> list[str]:
    """Return the command lines of the schedulers that were started, without their folders."""
    log = root / "started"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.rpartition("/")[2].strip() for line in lines]


def put_on_path(folder: Path, root: Path, patch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that puts a scheduler's program on the PATH, by its name."""
    bin_ = folder / "schedulers"
    bin_.mkdir()
    patch.setenv("PATH", str(bin_), prepend=":")

    def add(program: str) -> Path:
        name = program.removeprefix("scx_") + VERSION
        return write_program(bin_ / program, _PROGRAM.format(root=root, name=name))

    return add


GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
KERNEL, LAVD = settings_of(sched_ext="kernel"), settings_of(sched_ext="scx_lavd")
QUICK_LAVD = settings_of(sched_ext="scx_lavd --performance")
ALL = (0, 1, 2, 3)


@pytest.fixture(autouse=True)
def _with_sched_ext(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_sched_ext(root)
    add = put_on_path(tmp_path, root, monkeypatch)
    add("scx_lavd")
    add("scx_bpfland")


def node_settings(root: Path, rule: SchedulerRule | None = None) -> NodeSettings:
    site = Site("there", "A site", scheduler=rule) if rule else None
    return NodeSettings(root, read_topology(root), site, {})


def test_each_case_has_its_scheduler_and_the_kernels_is_back_at_the_end(root: Path) -> None:
    settings = node_settings(root)
    assert settings.scheduler_state().fields == {}
    seen = []
    for wanted in (KERNEL, LAVD, LAVD, QUICK_LAVD, AS_IT_IS, settings_of(sched_ext="scx_bpfland")):
        assert settings.problem("current", wanted, ALL) is None
        assert settings.apply("performance", wanted, (0, 1)) is None
        seen.append(in_force(root))
    lavd, bpfland = f"lavd{VERSION}", f"bpfland{VERSION}"
    assert seen == ["none", lavd, lavd, lavd, "none", bpfland]
    # One that goes on is not started again.
    assert started(root) == ["scx_lavd", "scx_lavd --performance", "scx_bpfland"]
    assert settings.scheduler_state().fields["scheduler_loaded_s"] >= 0
    # Governors and schedulers share a journal.
    saved = dict(json.loads(settings.journal_path.read_text())["settings"])
    assert (saved[f"/{NAME}"], saved[f"/{GOVERNOR}"]) == ("none", "powersave")
    put_back(settings)
    assert (in_force(root), text(root, GOVERNOR)) == ("none", "powersave")
    assert settings.scheduler_state().fields == {}
    assert not settings.journal_path.exists()


def test_a_scheduler_that_the_kernel_throws_out_says_why_and_is_started_again(root: Path) -> None:
    settings = node_settings(root)
    assert settings.apply("current", LAVD, ALL) is None
    assert settings.schedulers.thrown_out() == ""
    (root / "throw").touch()
    until(lambda: in_force(root) == "none")
    expected = "scx_lavd was thrown out: runnable task stall (watchdog failed to check in)"
    assert settings.schedulers.thrown_out() == expected
    assert settings.schedulers.thrown_out() == "", "it is told once"
    assert settings.apply("current", LAVD, ALL) is None
    assert in_force(root) == f"lavd{VERSION}"
    (root / "throw").touch()
    until(lambda: in_force(root) == "none")
    assert settings.apply("current", LAVD, ALL) == expected
    settings.restore()


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--refused", "not supported by this kernel"),
        ("--mute", "its program ended with status 3 and said nothing"),
    ],
)
def test_a_scheduler_that_is_not_loaded_is_a_reason(root: Path, option: str, why: str) -> None:
    settings = node_settings(root)
    wanted = settings_of(sched_ext=f"scx_lavd {option}")
    assert settings.apply("current", wanted, ALL) == f"scx_lavd {option} was not loaded: {why}"
    assert settings.apply("current", KERNEL, ALL) is None
    settings.restore()


def test_a_program_that_loads_another_scheduler_is_a_reason(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sched_ext, "LOAD_LIMIT_S", 0.5)
    (tmp_path / "schedulers/scx_rusty").symlink_to("scx_lavd")
    settings = node_settings(root)
    reason = settings.apply("current", settings_of(sched_ext="scx_rusty"), ALL)
    assert reason == f"scx_rusty was not in force after 0.5 s: sched_ext has lavd{VERSION}"
    assert in_force(root) == "none"
    settings.restore()


def another_in_force(root: Path) -> None:
    write(root, NAME, "rusty_1.0")
    write(root, STATE, "enabled")


def earlier_study(root: Path) -> None:
    journal = open_journal(root, STUDY).path
    journal.parent.mkdir(parents=True)
    journal.write_text("{}")


def without_sched_ext(root: Path) -> None:
    (root / STATE).unlink()


@pytest.mark.parametrize(
    ("spoil", "scheduler", "expected"),
    [
        (without_sched_ext, "scx_lavd", "scx_lavd needs sched_ext: /sys/kernel/sched_ext/state is"),
        (another_in_force, "scx_lavd", "rusty_1.0 of sched_ext is in force, which this study did"),
        (another_in_force, "kernel", "rusty_1.0 of sched_ext is in force, which this study did"),
        (earlier_study, "scx_lavd", "pinstudy restore"),
        (lambda _: None, "scx_nowhere", "there is no scx_nowhere on the PATH"),
    ],
)
def test_what_cannot_be_in_force_is_a_reason_before_anything_is_changed(
    root: Path, spoil: Callable[[Path], None], scheduler: str, expected: str
) -> None:
    spoil(root)
    settings = node_settings(root)
    for reason_of in (settings.problem, settings.apply):
        assert expected in str(reason_of("current", settings_of(sched_ext=scheduler), ALL))
    assert settings.restore() is None
    assert started(root) == []


def test_without_sched_ext_the_kernels_own_scheduler_is_in_force(root: Path) -> None:
    without_sched_ext(root)
    by_command = SchedulerRule("command", ("/no/such", "{scheduler}"))
    for settings in (node_settings(root), node_settings(root, by_command)):
        assert settings.problem("current", KERNEL, ALL) is None
        assert settings.apply("current", KERNEL, ALL) is None
        assert settings.restore() is None


@pytest.mark.parametrize(
    ("command_line", "expected"),
    [
        ("scx_lavd", "scx_lavd is not root's alone, who would start it"),
        ("scx_lavd --config ../shadow", "names a file, which root does not open"),
    ],
)
def test_root_starts_nothing_of_the_user_who_called_sudo(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: str, expected: str
) -> None:
    monkeypatch.setattr("pinstudy.runners.settings.node_settings.invoking_uid", lambda: 1000)
    (tmp_path / "schedulers/scx_lavd").chmod(0o777)
    wanted = settings_of(sched_ext=command_line)
    assert expected in str(node_settings(root).apply("current", wanted, ALL))
    assert started(root) == []


def test_energy_aware_scheduling_is_put_back_before_its_governor_is(root: Path) -> None:
    write(root, ENERGY_AWARE, 1)
    settings = node_settings(root)
    off = settings_of(energy_aware="off")
    assert settings.apply("performance", off, ALL) is None
    saved = [path for path, _ in json.loads(settings.journal_path.read_text())["settings"]]
    assert saved.index(f"/{ENERGY_AWARE}") < saved.index(f"/{GOVERNOR}")
    assert settings.apply("powersave", AS_IT_IS, ALL) is None
    assert text(root, ENERGY_AWARE) == "1"
    # What the kernel does is done by hand: its file is empty under this governor.
    write(root, ENERGY_AWARE, "")
    for reason_of in (settings.problem, settings.apply):
        reason = str(reason_of("powersave", off, ALL))
        assert "energy-aware scheduling is impossible now" in reason
    # Under another one it may be possible.
    assert settings.problem("performance", off, ALL) is None
    put_back(settings)


SITE = """
import sys
from pathlib import Path
folder, scheduler = Path(sys.argv[1]) / "sys/kernel/sched_ext", sys.argv[2]
name = scheduler.split()[0].removeprefix("scx_")
if name == "wrong":
    sys.exit("wrong is not allowed at this site")
(folder / "root").mkdir(exist_ok=True)
(folder / "root/ops").write_text(f"{name}_1.0")
(folder / "state").write_text("disabled" if name == "kernel" else "enabled")
with (Path(sys.argv[1]) / "log").open("a") as log:
    log.write(f"{scheduler}\\n")
"""


def test_a_site_sets_schedulers_by_its_command_and_they_are_put_back_by_it(root: Path) -> None:
    another_in_force(root)
    command = (sys.executable, "-c", SITE, str(root), "{scheduler}")
    settings = node_settings(root, SchedulerRule("command", command))
    for wanted in (LAVD, LAVD, QUICK_LAVD, KERNEL, AS_IT_IS, LAVD):
        assert settings.apply("current", wanted, ALL) is None
    write(root, STATE, "disabled")
    assert settings.apply("current", LAVD, ALL) is None, "it is set again"
    reason = settings.apply("current", settings_of(sched_ext="scx_wrong"), ALL)
    assert reason is not None and "wrong is not allowed at this site" in reason
    put_back(settings)
    calls = (root / "log").read_text().splitlines()
    assert calls == [
        "scx_lavd", "scx_lavd --performance", "kernel", "scx_rusty", "scx_lavd", "scx_lavd",
        "scx_rusty",
    ]  # fmt: skip


def test_where_nobody_sets_schedulers_the_one_in_force_runs(root: Path) -> None:
    another_in_force(root)
    write(root, ITMT, 1)
    settings = node_settings(root, SchedulerRule("nobody"))
    assert settings.apply("current", settings_of(sched_ext="scx_rusty", itmt="on"), ALL) is None
    faster = settings_of(sched_ext="scx_rusty --fast")
    for wanted in (KERNEL, LAVD, faster, settings_of(itmt="off")):
        reason = settings.apply("current", wanted, ALL)
        assert reason is not None and reason.endswith("at this site nobody sets it")
    assert settings.restore() is None


def test_a_scheduler_that_is_still_there_is_named_with_what_ends_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sched_ext, "UNLOAD_LIMIT_S", 0.2)
    settings = node_settings(root)
    assert settings.apply("current", LAVD, ALL) is None
    running = settings.schedulers.running
    assert running is not None
    # In a tree nobody takes the scheduler's place when its program is killed.
    os.kill(running.pid, signal.SIGKILL)
    done = settings.restore()
    assert done is not None
    assert list(done.problems) == [f"/{NAME}"]
    assert "`sudo pkill -INT scx_lavd`" in done.message and "pinstudy restore" in done.message
    write(root, STATE, "disabled")
    again = restore(root, open_journal(root, STUDY))
    assert again is not None and again.problems == {}


STARTER = """
import sys, time
from pathlib import Path
from tests.runners.settings.test_scheduling import ALL, LAVD, node_settings
settings = node_settings(Path(sys.argv[1]))
print(settings.apply("current", LAVD, ALL), flush=True)
time.sleep(600)
"""


def test_a_scheduler_ends_with_the_study_that_is_killed_and_recovery_sees_it(root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(root)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as study:
        assert study.stdout
        assert study.stdout.readline() == "None\n"
        (supervisor,) = children(study.pid)
        (scheduler,) = children(supervisor)
        assert in_force(root) == f"lavd{VERSION}"
        study.kill()
    done = restore(root, open_journal(root, STUDY))
    assert done is not None and done.problems == {}
    assert in_force(root) == "none"
    wait_until_gone((supervisor, scheduler))
    assert not open_journal(root, STUDY).exists()
