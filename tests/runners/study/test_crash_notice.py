"""How an earlier attempt ended is told in one line, and told once."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from base.errors import StoppedError, StudyError
from base.text import one_line
from runners.host.tree import Tree
from runners.records.line import line_of
from runners.records.reader import read_lines, shards_of
from runners.records.record import SCHEMA
from runners.records.shard import Shard
from runners.settings.journal import boot_id_of
from runners.study.crash_notice import SUFFIX, attempt_marker, ended_attempts
from runners.study.history import ShardLines
from tests.support.limits import files_of_at_most, no_more_files

TREE = Tree(Path("/"))
NODE = "n"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(f"*{SUFFIX}"))


def attempt(folder: Path, ends_by: BaseException | None = None, runs: int = 1) -> None:
    """Make an attempt in this process that ends by an error, or well."""
    shard = Shard(folder, NODE)
    try:
        with attempt_marker(shard.path, NODE, TREE):
            assert left(folder) == [shard.path.with_suffix(SUFFIX).name]
            for number in range(1, runs + 1):
                shard.append(
                    {"schema": SCHEMA, "status": "ok", "case_id": "a", "repetition": number}
                )
            if ends_by:
                raise ends_by
    finally:
        shard.close()


def killed(folder: Path) -> int:
    """Make an attempt in a process that ends without a word; return its number."""
    child = os.fork()
    if child == 0:
        shard = Shard(folder, NODE)
        shard.append({"schema": 6})
        with attempt_marker(shard.path, NODE, TREE):
            os._exit(9)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    return child


def told(folder: Path) -> list[str]:
    shards = {path.name: ShardLines() for path in shards_of(folder)}
    for path in shards_of(folder):
        for line in read_lines(path):
            shards[path.name].add(line)
    return [ended.describe(" here", shards) for ended in ended_attempts(folder, NODE, TREE)]


def rewrite(folder: Path, **changes: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    (path,) = folder.glob(f"*{SUFFIX}")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StoppedError("time is up"), None])
def test_nothing_is_left_of_an_attempt_that_its_user_was_told_of(
    tmp_path: Path, error: BaseException | None
) -> None:
    try:
        attempt(tmp_path, error)
    except (KeyboardInterrupt, StoppedError) as passed:
        assert passed is error
    assert left(tmp_path) == []
    assert told(tmp_path) == []


def test_an_attempt_that_is_at_work_has_not_ended(tmp_path: Path, at_end: ExitStack) -> None:
    shard = at_end.enter_context(closing(Shard(tmp_path, NODE)))
    with attempt_marker(shard.path, NODE, TREE):
        assert told(tmp_path) == []


def test_a_killed_attempt_is_told_with_its_process_and_what_it_has_kept(tmp_path: Path) -> None:
    attempt(tmp_path)
    pid = killed(tmp_path)
    with (tmp_path / "n-0002.jsonl").open("ab") as shard:
        run = {"schema": SCHEMA, "status": "ok", "case_id": "a", "repetition": 1}
        shard.write(line_of(run) + b'{"schema":5,"sta')
    (line,) = told(tmp_path)
    assert line.startswith(f"attempt 2 (process {pid}, began 20")
    assert line.endswith(") was ended from outside here: 1 run of it kept, 1 torn line skipped")


def test_a_process_of_the_same_number_is_not_the_attempt(tmp_path: Path) -> None:
    killed(tmp_path)
    rewrite(tmp_path, pid=os.getpid())
    (line,) = told(tmp_path)
    assert f"process {os.getpid()}" in line


def test_a_reboot_since_is_told(tmp_path: Path) -> None:
    killed(tmp_path)
    assert boot_id_of(TREE)
    rewrite(tmp_path, boot_id="another")
    (line,) = told(tmp_path)
    assert "was ended from outside (the node was rebooted since) here" in line


def test_why_an_attempt_gave_up_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        attempt(tmp_path, StudyError("no space;\nmake room\x1b[2J"))
    (line,) = told(tmp_path)
    assert ") gave up (no space; make room\ufffd[2J) here: 1 run of it kept" in line


def test_the_next_attempt_removes_what_earlier_ones_left(tmp_path: Path) -> None:
    killed(tmp_path)
    killed(tmp_path)
    assert len(told(tmp_path)) == 1, "the second has removed what the first left"
    attempt(tmp_path)
    assert left(tmp_path) == []


def test_the_number_of_an_attempt_without_records_is_used_again(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        attempt(tmp_path, StudyError("not the last word"), runs=0)
    assert not list(tmp_path.glob("*.jsonl"))
    attempt(tmp_path)
    assert told(tmp_path) == []


def test_other_nodes_attempts_are_theirs(tmp_path: Path) -> None:
    killed(tmp_path)
    assert ended_attempts(tmp_path, "m", TREE) == []


@pytest.mark.parametrize("content", [b"", b"\0" * 2048, b"[]", b'{"pid": "1"}', b"{" * 5000])
def test_a_file_that_a_power_cut_has_emptied_still_tells_the_attempt(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / f"n-0004{SUFFIX}").write_bytes(content)
    assert told(tmp_path) == [
        "attempt 4 did not end well, and its file does not tell how, here: 0 runs of it kept"
    ]


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
def test_the_reason_needs_no_file_and_no_room_on_the_disk(
    tmp_path: Path, at_end: ExitStack, text: str
) -> None:
    shard = at_end.enter_context(closing(Shard(tmp_path, NODE)))
    with (
        ExitStack() as short,
        pytest.raises(StudyError),
        attempt_marker(shard.path, NODE, TREE),
    ):
        (path,) = tmp_path.glob(f"*{SUFFIX}")
        before = path.stat().st_size
        short.enter_context(no_more_files())
        raise StudyError(text * 1600)
    assert path.stat().st_size == before
    assert f"gave up ({one_line(text)}" in told(tmp_path)[0]


def test_a_planted_link_is_not_written_through(tmp_path: Path, at_end: ExitStack) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    folder = tmp_path / "records"
    shard = at_end.enter_context(closing(Shard(folder, NODE)))
    shard.path.with_suffix(SUFFIX).symlink_to(victim)
    with attempt_marker(shard.path, NODE, TREE):
        assert not shard.path.with_suffix(SUFFIX).is_symlink()
    assert victim.read_text() == "kept"
