"""Schedulers, energy-aware scheduling and ITMT: put in force, read back, put back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from configs.settings import AS_IT_IS, settings_of
from configs.site import SchedulerRule, Site
from runners.node.discovery import read_topology
from runners.settings import sched_ext, sched_ext_loading
from runners.settings.journal import STUDY, open_journal
from runners.settings.node_settings import NodeSettings
from runners.settings.recovery import restore
from tests.runners.settings.schedulers import (
    NAME,
    STATE,
    VERSION,
    add_sched_ext,
    in_force,
    put_on_path,
    started,
)
from tests.support.processes import children, wait_until_gone
from tests.support.tools import ROOT
from tests.support.trees import CPU, write
from tests.support.wait import until

ENERGY_AWARE = "proc/sys/kernel/sched_energy_aware"
ITMT_OLD, ITMT_NEW = (
    "proc/sys/kernel/sched_itmt_enabled",
    "sys/kernel/debug/x86/sched_itmt_enabled",
)
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


def text(root: Path, path: str) -> str:
    return (root / path).read_text().strip()


def test_each_case_has_its_scheduler_and_the_kernels_is_back_at_the_end(root: Path) -> None:
    settings = node_settings(root)
    seen = []
    for wanted in (KERNEL, LAVD, LAVD, QUICK_LAVD, AS_IT_IS, settings_of(sched_ext="scx_bpfland")):
        assert settings.problem("current", wanted, ALL) is None
        assert settings.apply("current", wanted, ALL) is None
        seen.append(in_force(root))
    lavd, bpfland = f"lavd{VERSION}", f"bpfland{VERSION}"
    assert seen == ["none", lavd, lavd, lavd, "none", bpfland]
    # One that goes on is not started again.
    assert started(root) == ["scx_lavd", "scx_lavd --performance", "scx_bpfland"]
    done = settings.restore()
    assert done is not None and done.problems == {}
    assert in_force(root) == "none"
    assert not settings.journal_path.exists()


def test_a_scheduler_that_runs_says_for_how_long_and_none_says_nothing(root: Path) -> None:
    settings = node_settings(root)
    assert settings.scheduler_state().fields == {}
    assert settings.apply("current", LAVD, ALL) is None
    assert settings.scheduler_state().fields["scheduler_loaded_s"] >= 0
    settings.restore()
    assert settings.scheduler_state().fields == {}


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


def without_sched_ext(root: Path) -> None:
    (root / STATE).unlink()


def another_in_force(root: Path) -> None:
    write(root, NAME, "rusty_1.0")
    write(root, STATE, "enabled")


def earlier_study(root: Path) -> None:
    journal = open_journal(root, STUDY).path
    journal.parent.mkdir(parents=True)
    journal.write_text("{}")


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
    root: Path, spoil: object, scheduler: str, expected: str
) -> None:
    assert callable(spoil)
    spoil(root)
    settings = node_settings(root)
    for reason in (
        settings.problem("current", settings_of(sched_ext=scheduler), ALL),
        settings.apply("current", settings_of(sched_ext=scheduler), ALL),
    ):
        assert reason is not None and expected in reason
    assert settings.restore() is None
    assert started(root) == []


def test_root_starts_nothing_of_the_user_who_called_sudo(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sched_ext_loading, "invoking_uid", lambda: 1000)
    (tmp_path / "schedulers/scx_lavd").chmod(0o777)
    settings = node_settings(root)
    for wanted, expected in (
        (LAVD, "scx_lavd is not root's alone, who would start it"),
        (
            settings_of(sched_ext="scx_lavd --config ../shadow"),
            "names a file, which root does not open",
        ),
    ):
        reason = settings.apply("current", wanted, ALL)
        assert reason is not None and expected in reason
    assert started(root) == []


def test_without_sched_ext_the_kernels_own_scheduler_is_in_force(root: Path) -> None:
    without_sched_ext(root)
    by_command = node_settings(root, SchedulerRule("command", ("/no/such", "{scheduler}")))
    for settings in (node_settings(root), by_command):
        assert settings.problem("current", KERNEL, ALL) is None
        assert settings.apply("current", KERNEL, ALL) is None
        assert settings.restore() is None


@pytest.mark.parametrize(
    ("path", "on", "off"), [(ITMT_OLD, "1", "0"), (ITMT_NEW, "Y", "N"), (ENERGY_AWARE, "1", "0")]
)
def test_a_switch_is_set_read_back_and_put_back(root: Path, path: str, on: str, off: str) -> None:
    write(root, path, on)
    field = "energy_aware" if path == ENERGY_AWARE else "itmt"
    settings = node_settings(root)
    for state, shown in (("on", on), ("off", off), ("current", on), ("off", off)):
        wanted = settings_of(**{field: state})
        assert settings.problem("current", wanted, ALL) is None
        assert settings.apply("current", wanted, ALL) is None
        assert text(root, path) == shown
    done = settings.restore()
    assert done is not None and done.problems == {}
    assert text(root, path) == on
    assert not settings.journal_path.exists()


def test_energy_aware_scheduling_is_put_back_before_its_governor_is(root: Path) -> None:
    write(root, ENERGY_AWARE, 1)
    settings = node_settings(root)
    off = settings_of(energy_aware="off")
    assert settings.apply("performance", off, ALL) is None
    saved = [path for path, _ in json.loads(settings.journal_path.read_text())["settings"]]
    assert saved.index(f"/{ENERGY_AWARE}") < min(
        place for place, path in enumerate(saved) if path.endswith("scaling_governor")
    )
    assert settings.apply("powersave", AS_IT_IS, ALL) is None
    assert text(root, ENERGY_AWARE) == "1"
    # What the kernel does is done by hand: its file is empty under this governor.
    write(root, ENERGY_AWARE, "")
    reason = settings.apply("powersave", off, ALL)
    assert reason is not None and "energy-aware scheduling is impossible now" in reason
    done = settings.restore()
    assert done is not None and done.problems == {}


def test_what_is_impossible_under_the_governor_in_force_may_be_possible_under_another(
    root: Path,
) -> None:
    write(root, ENERGY_AWARE, "")
    settings = node_settings(root)
    on = settings_of(energy_aware="on")
    reason = settings.problem("powersave", on, ALL)
    assert reason is not None and "energy-aware scheduling is impossible now" in reason
    assert settings.problem("performance", on, ALL) is None


@pytest.mark.parametrize("field", ["energy_aware", "itmt"])
def test_a_kernel_without_a_switch_has_a_reason(root: Path, field: str) -> None:
    settings = node_settings(root)
    reason = settings.problem("current", settings_of(**{field: "on"}), ALL)
    assert reason is not None and reason.endswith("is missing")


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
    done = settings.restore()
    assert done is not None and done.problems == {}
    calls = (root / "log").read_text().splitlines()
    assert calls == [
        "scx_lavd", "scx_lavd --performance", "kernel", "scx_rusty", "scx_lavd", "scx_lavd",
        "scx_rusty",
    ]  # fmt: skip


def test_where_nobody_sets_schedulers_the_one_in_force_runs(root: Path) -> None:
    another_in_force(root)
    write(root, ITMT_OLD, 1)
    settings = node_settings(root, SchedulerRule("nobody"))
    assert settings.apply("current", settings_of(sched_ext="scx_rusty", itmt="on"), ALL) is None
    for wanted in (
        KERNEL,
        LAVD,
        settings_of(sched_ext="scx_rusty --fast"),
        settings_of(itmt="off"),
    ):
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


def test_governors_and_schedulers_share_a_journal(root: Path) -> None:
    settings = node_settings(root)
    assert settings.apply("performance", LAVD, (0, 1)) is None
    saved = dict(json.loads(settings.journal_path.read_text())["settings"])
    assert saved[f"/{NAME}"] == "none"
    assert saved[f"/{CPU}/cpufreq/policy0/scaling_governor"] == "powersave"
    settings.restore()
    assert text(root, f"{CPU}/cpufreq/policy0/scaling_governor") == "powersave"
