"""What earlier attempts, and other nodes, tell the next one: runs, settings, and how they ended."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.errors import StoppedError, StudyError, UserError
from pinstudy.base.text import one_line
from pinstudy.configs.library import load_study
from pinstudy.configs.settings import settings_of
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.records.line import line_of
from pinstudy.runners.records.reader import read_lines, shards_of
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.settings.journal import boot_id_of
from pinstudy.runners.study.continuity import EarlierSettings
from pinstudy.runners.study.crash_notice import SUFFIX, attempt_marker, ended_attempts
from pinstudy.runners.study.history import ShardLines, read_history
from tests.runners.cases import case
from tests.support.limits import files_of_at_most, no_more_files

STUDY = load_study("quick")
RUN = {"schema": SCHEMA, "case_id": "a", "status": "ok", "warmup": False, "elapsed_s": 1.0}


def write(folder: Path, *runs: tuple[str, int, dict[str, Any]]) -> Path:
    """Write an attempt of each run: its node, its repetition, and more fields."""
    for node, repetition, fields in runs:
        with closing(Shard(folder / "records", node)) as shard:
            origin = {"study_digest": STUDY.digest, "node_digest": "same", "node_id": node}
            shard.append(RUN | origin | {"repetition": repetition} | fields)
    return folder


def test_runs_of_all_nodes_count_and_warm_up_runs_of_ones_own(tmp_path: Path) -> None:
    warm_up = {"warmup": True}
    write(tmp_path, ("n1", 1, warm_up), ("n1", 1, {}), ("n2", 1, warm_up), ("n2", 2, {}))
    ran = {("a", False, 1), ("a", False, 2)}
    for node, done in (("n1", ran | {("a", True, 1)}), ("n3", ran)):
        assert set(read_history(tmp_path, STUDY, "same", node, "split-there").done) == done
    with pytest.raises(UserError, match=r"node n4 is not like 'n1'.*--spread per-node"):
        read_history(tmp_path, STUDY, "other", "n4", "split-there")


def test_one_reading_tells_all_of_earlier_runs(tmp_path: Path) -> None:
    write(
        tmp_path,
        ("n1", 1, {"energy_pkg_j": 5.0, "metrics": {"n": 1.0}}),
        ("n1", 2, {"status": "failed"}),
        ("n1", 3, {"status": "interrupted"}),
        ("n1", 1, {"warmup": True}),
        ("n1", 1, {"case_id": "timed", "fixed_time": True, "metrics": {"rate": 40.0}}),
    )
    with (tmp_path / "records" / "n1-0005.jsonl").open("ab") as shard:
        shard.write(b'{"schema":5,"sta')
    history = read_history(tmp_path, STUDY, "same")
    assert history.good == {
        "a": {1: {"elapsed_s": 1.0, "energy_pkg_j": 5.0}},
        "timed": {1: {"elapsed_s": 1.0, "metrics": {"rate": 40.0}}},
    }
    assert (history.mean_s("a"), ("a", False, 1) in history.done) == (1.0, True)
    lines = [(1, 0), (1, 0), (0, 0), (1, 0), (1, 1)]
    assert list(history.shards.values()) == [ShardLines(*numbers) for numbers in lines]


# What a reading of the node, or the record of a run, has.
STATE: dict[str, Any] = {
    "governor_read": "powersave",
    "epp": "balance_performance",
    "max_khz": {"5600000": "0", "4400000": "1"},
    "sched_itmt": "on",
    "preemption": "lazy",
    "floor_khz": {"1800000": "0-1"},
    "driver_mode": "active",
    "isolated_cpus": "none",
    "cpuset_partition": "root 0-3",
    "power_supply": "mains",
    "platform_profile": "balanced",
    "power_limits": {"package-0": {"pl1_w": 125.0, "tau_s": 28.0, "pl2_w": 253.0}},
}
AS_IT_IS = case(governor="current")


def package(pl1_w: float, tau_s: float = 28.0) -> dict[str, Any]:
    return {"power_limits": {"package-0": {"pl1_w": pl1_w, "tau_s": tau_s, "pl2_w": 253.0}}}


def earlier(*runs: dict[str, Any]) -> EarlierSettings:
    """Return the settings of these runs of a case, each with a change of STATE."""
    settings = EarlierSettings()
    for run in runs:
        settings.add(AS_IT_IS.case_id, STATE | run)
    return settings


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"epp": "power"}, "EPP was 'balance_performance', now 'power'"),
        ({"governor_read": "performance"}, "governor was 'powersave', now 'performance'"),
        ({"sched_itmt": "off"}, "ITMT was 'on', now 'off'"),
        ({"preemption": "full"}, "preemption was 'lazy', now 'full'"),
        ({"isolated_cpus": "2-3"}, "isolated CPUs were 'none', now '2-3'"),
        ({"cpuset_partition": "none"}, "cpuset partition was 'root 0-3', now 'none'"),
        ({"floor_khz": {"400000": "0-1"}}, "floor of frequency (kHz) was '1800000 on 0-1', now"),
        (
            {"driver_mode": "active, dynamic EPP"},
            "mode of the frequency driver was 'active', now 'active, dynamic EPP'",
        ),
        ({"power_supply": "battery"}, "power supply was 'mains', now 'battery'"),
        ({"platform_profile": "quiet"}, "platform profile was 'balanced', now 'quiet'"),
        (package(65.0), "PL1 of package-0 (W) was '125', now '65'"),
        (package(125.0, 8.0), "window of PL1 of package-0 (s) was '28', now '8'"),
        ({"max_khz": {"5600000": "0-1"}}, "highest frequency (kHz) was '5600000 on 0, 4400000 on"),
    ],
)
def test_a_setting_that_is_another_is_told(change: dict[str, Any], told: str) -> None:
    differences = earlier({}, {}).before_attempt(AS_IT_IS, STATE | change)
    assert differences.startswith(told) and bool(differences) == bool(told)


@pytest.mark.parametrize("name", list(STATE))
def test_what_cannot_be_read_now_or_was_not_then_is_no_difference(name: str) -> None:
    known = {key: value for key, value in STATE.items() if key != name}
    assert earlier({}).before_attempt(AS_IT_IS, known) == ""
    assert earlier({name: None}).before_attempt(AS_IT_IS, STATE) == ""


def test_limits_of_power_may_move_by_themselves_and_while_an_attempt_runs() -> None:
    now = STATE | package(65.0)
    assert earlier({}, package(90.0)).before_attempt(AS_IT_IS, now) == ""
    assert earlier({}).before_run(AS_IT_IS, now) == ""
    assert earlier({}).before_run(AS_IT_IS, STATE | {"epp": "power"}) != ""


UNLIMITED = {name: {"5000000": "0-1"} for name in ("max_khz", "highest_khz")}
LOWERED = {name: {"4800000": "0-1"} for name in ("max_khz", "highest_khz")}
# A fixed clock, and what heat makes of it.
FIXED, HOT = (
    {name: {khz: "0-1"} for name in ("min_khz", "max_khz")} for khz in ("2000000", "1400000")
)
CAPPED = {"max_khz": {"2000000": "0-1"}, "highest_khz": {"5000000": "0-1"}}


@pytest.mark.parametrize(
    ("run", "now", "cooled", "told"),
    [
        # The firmware has moved what the hardware allows; nobody has set a limit.
        (UNLIMITED, LOWERED, False, ""),
        (UNLIMITED, CAPPED, False, "highest frequency (kHz) was '5000000 on 0-1', now '2000000 on"),
        (CAPPED, UNLIMITED, False, "highest frequency (kHz) was '2000000 on 0-1', now '5000000"),
        # Heat hides what is set.
        (UNLIMITED, CAPPED, True, ""),
        (FIXED, HOT, True, ""),
        (FIXED, HOT, False, "lowest frequency (kHz) was '2000000 on 0-1', now '1400000 on 0-1'"),
        (CAPPED | {"cpu_cooling": {"cooling_device0": 2}}, UNLIMITED, False, ""),
        # Records of older versions do not tell the hardware's limit.
        ({"max_khz": {"5000000": "0-1"}}, UNLIMITED, False, ""),
    ],
)
def test_a_highest_frequency_that_nobody_has_set_is_no_difference(
    run: dict[str, Any], now: dict[str, Any], cooled: bool, told: str
) -> None:
    settings = earlier(run)
    for compared in (settings.before_attempt, settings.before_run):
        found = compared(AS_IT_IS, STATE | now, cooled=cooled)
        assert found.startswith(told) and bool(found) == bool(told)


def test_what_a_case_sets_itself_is_compared_when_it_is_in_force() -> None:
    with_governor = case(governor="performance")
    with_limit = case(settings=settings_of(power_limit="90 W"))
    asked = case(governor="performance", settings=settings_of(itmt="on"))
    settings = EarlierSettings()
    for limited in (with_governor, with_limit):
        settings.add(limited.case_id, STATE | package(90.0))
    settings.add(asked.case_id, STATE | {"governor_read": "performance", "epp": "performance"})
    assert settings.before_attempt(with_limit, STATE | package(65.0)) == ""
    assert "PL1" in settings.before_attempt(with_governor, STATE | package(65.0))
    # No governor chooses the supply.
    assert "power supply" in settings.before_attempt(asked, STATE | {"power_supply": "battery"})
    now = STATE | {"sched_itmt": "off"}
    assert settings.before_attempt(asked, now) == ""
    assert "EPP was 'performance'" in settings.before_run(asked, now)
    assert "ITMT was 'on', now 'off'" in settings.before_run(asked, now)


TREE, NODE = Tree(Path("/")), "n"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(f"*{SUFFIX}"))


def attempt(folder: Path, ends_by: BaseException | None = None, runs: int = 1) -> None:
    """Make an attempt in this process that ends by an error, or well."""
    with closing(Shard(folder, NODE)) as shard, attempt_marker(shard.path, NODE, TREE):
        assert left(folder) == [shard.path.with_suffix(SUFFIX).name]
        for number in range(1, runs + 1):
            shard.append(RUN | {"repetition": number})
        if ends_by:
            raise ends_by


def killed(folder: Path, **changes: object) -> int:
    """Make an attempt in a process that ends without a word; return its number.

    The file that tells of it is changed afterwards.
    """
    child = os.fork()
    if child == 0:
        shard = Shard(folder, NODE)
        shard.append({"schema": 6})
        with attempt_marker(shard.path, NODE, TREE):
            os._exit(9)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    path = max(folder.glob(f"*{SUFFIX}"))
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return child


def told(folder: Path) -> list[str]:
    shards = {path.name: ShardLines() for path in shards_of(folder)}
    for path in shards_of(folder):
        for line in read_lines(path):
            shards[path.name].add(line)
    return [ended.describe(" here", shards) for ended in ended_attempts(folder, NODE, TREE)]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoppedError("time is up"), None])
def test_nothing_is_left_of_a_told_attempt(tmp_path: Path, error: BaseException | None) -> None:
    try:
        attempt(tmp_path, error)
    except (KeyboardInterrupt, StoppedError) as passed:
        assert passed is error
    assert (left(tmp_path), told(tmp_path)) == ([], [])


def test_an_attempt_that_is_at_work_has_not_ended(tmp_path: Path, at_end: ExitStack) -> None:
    shard = at_end.enter_context(closing(Shard(tmp_path, NODE)))
    with attempt_marker(shard.path, NODE, TREE):
        assert told(tmp_path) == []


def test_a_killed_attempt_is_told_with_its_process_and_what_it_has_kept(tmp_path: Path) -> None:
    attempt(tmp_path)
    pid = killed(tmp_path)
    with (tmp_path / "n-0002.jsonl").open("ab") as shard:
        shard.write(line_of(RUN | {"repetition": 1}) + b'{"schema":5,"sta')
    # Another node's attempts are its own.
    assert ended_attempts(tmp_path, "m", TREE) == []
    (line,) = told(tmp_path)
    assert line.startswith(f"attempt 2 (process {pid}, began 20")
    assert line.endswith(") was ended from outside here: 1 run of it kept, 1 torn line skipped")


def test_a_reboot_since_and_a_process_of_the_same_number_are_told(tmp_path: Path) -> None:
    assert boot_id_of(TREE)
    killed(tmp_path, boot_id="another")
    assert "was ended from outside (the node was rebooted since) here" in told(tmp_path)[0]
    killed(tmp_path, pid=os.getpid())
    # The second has removed what the first left, and the next one what the second left.
    (line,) = told(tmp_path)
    assert f"process {os.getpid()}" in line
    attempt(tmp_path)
    assert left(tmp_path) == []


def test_why_an_attempt_gave_up_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        attempt(tmp_path, StudyError("no space;\nmake room\x1b[2J"))
    (line,) = told(tmp_path)
    assert ") gave up (no space; make room\ufffd[2J) here: 1 run of it kept" in line


def test_the_number_of_an_attempt_without_records_is_used_again(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        attempt(tmp_path, StudyError("not the last word"), runs=0)
    assert not list(tmp_path.glob("*.jsonl"))
    attempt(tmp_path)
    assert told(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"\0" * 2048, b"[]", b'{"pid": "1"}', b"{" * 5000])
def test_a_file_after_a_power_cut_tells_the_attempt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"n-0004{SUFFIX}").write_bytes(content)
    unknown = "attempt 4 did not end well, and its file does not tell how, here: 0 runs of it kept"
    assert told(tmp_path) == [unknown]


@pytest.mark.parametrize("full_from_the_start", [True, False])
def test_an_attempt_that_cannot_tell_why_it_gave_up_was_not_ended_from_outside(
    tmp_path: Path, full_from_the_start: bool, at_end: ExitStack
) -> None:
    shard = at_end.enter_context(closing(Shard(tmp_path, NODE)))
    with ExitStack() as full, pytest.raises(StudyError):
        if full_from_the_start:
            full.enter_context(files_of_at_most(0))
        with attempt_marker(shard.path, NODE, TREE):
            if not full_from_the_start:
                full.enter_context(files_of_at_most(0))
            raise StudyError("no space")
    assert left(tmp_path) == []


@pytest.mark.parametrize("text", ["xxx", "äöü", "𝄞𝄞𝄞", '"\\"', "\0\udcff\t\x1b"])
def test_the_reason_needs_no_file_and_no_room(tmp_path: Path, at_end: ExitStack, text: str) -> None:
    shard = at_end.enter_context(closing(Shard(tmp_path, NODE)))
    with ExitStack() as short, pytest.raises(StudyError), attempt_marker(shard.path, NODE, TREE):
        (path,) = tmp_path.glob(f"*{SUFFIX}")
        before = path.stat().st_size
        short.enter_context(no_more_files())
        raise StudyError(text * 1600)
    assert path.stat().st_size == before
    assert f"gave up ({one_line(text)}" in told(tmp_path)[0]


def test_a_planted_link_is_not_written_through(tmp_path: Path, at_end: ExitStack) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    shard = at_end.enter_context(closing(Shard(tmp_path / "records", NODE)))
    shard.path.with_suffix(SUFFIX).symlink_to(victim)
    with attempt_marker(shard.path, NODE, TREE):
        assert not shard.path.with_suffix(SUFFIX).is_symlink()
    assert victim.read_text() == "kept"
