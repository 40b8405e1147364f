"""What was asked of a batch system is read back as it was, and checked."""

from __future__ import annotations

import json
import math
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from base.errors import UserError
from runners.batch.submission import (
    FILE,
    Attempt,
    AttemptFile,
    Submission,
    job_of,
    new_folder,
    read_attempts,
    read_submission,
    submissions_of,
    write_submission,
)
from runners.batch_systems.interface import Submitted
from runners.batch_systems.registry import open_system
from tests.runners.batch.asked import submission_of


def test_a_submission_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written = submission_of(new_folder(tmp_path)).with_job(Submitted("12", 0, 2))
    assert read_submission(written.folder) == written
    assert submissions_of(tmp_path) == [written]
    assert written.number == 1


def test_who_submit_at_the_same_time_get_folders_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: new_folder(tmp_path), range(24)))
    assert sorted(int(folder.name) for folder in folders) == list(range(1, 25))


@pytest.mark.parametrize("name", ["9" * 20, "9" * 255, "-1", "\u0661", "1e3", "+2", "1_0", " 7"])
def test_a_folder_with_another_name_is_no_submission(tmp_path: Path, name: str) -> None:
    (tmp_path / "submissions" / name).mkdir(parents=True)
    assert submissions_of(tmp_path) == []
    assert new_folder(tmp_path).name == "0001"


def test_a_planted_submission_that_none_can_follow_is_named(tmp_path: Path) -> None:
    planted = tmp_path / "submissions" / "999999999"
    planted.mkdir(parents=True)
    with pytest.raises(UserError, match=f"^{planted}: no submission has a number so high"):
        new_folder(tmp_path)


def test_a_folder_without_its_file_is_a_submission_that_was_never_made(tmp_path: Path) -> None:
    new_folder(tmp_path)
    write_submission(submission_of(new_folder(tmp_path)))
    assert [found.number for found in submissions_of(tmp_path)] == [2]


def test_a_worker_that_was_not_submitted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no worker 2; expected one from 0 to 1"):
        submission_of(tmp_path).worker(2)
    with pytest.raises(UserError, match="has no worker -1"):
        submission_of(tmp_path).worker(-1)


def test_a_folder_that_is_not_shared_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is the results folder shared with this node"):
        read_submission(tmp_path / "0001")


SPOILED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@given(st.data())
def test_a_file_that_is_spoiled_or_lacks_a_field_is_one_line_that_names_it(
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "0001"
        folder.mkdir()
        write_submission(submission_of(folder))
        fields = json.loads((folder / FILE).read_bytes())
        key = data.draw(st.sampled_from(sorted(fields)))
        kept = fields.pop(key)
        if not (lacks := data.draw(st.booleans())):
            fields[key] = data.draw(SPOILED.filter(lambda value: type(value) is not type(kept)))
        (folder / FILE).write_text(json.dumps(fields))
        if not lacks and key == "kinds" and isinstance(fields[key], str):
            assert read_submission(folder).kinds == fields[key]
        elif not lacks and key == "time_limit_s" and _is_a_time(fields[key]):
            assert read_submission(folder).time_limit_s == fields[key]
        else:
            with pytest.raises(UserError, match=FILE) as raised:
                read_submission(folder)
            assert "\n" not in str(raised.value)


def _is_a_time(value: object) -> bool:
    return type(value) is int and 0 <= value <= 10**10


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"schema": 2}'])
def test_what_is_no_submission_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UserError, match=r"submission.json: .*; move its folder elsewhere"):
        read_submission(tmp_path)


def test_a_submission_whose_folder_has_no_number_is_refused(tmp_path: Path) -> None:
    made = submission_of(new_folder(tmp_path))
    write_submission(made)
    copied = made.folder.rename(tmp_path / "copied")
    with pytest.raises(UserError, match=r"\(its folder is named 'copied', and not by its number"):
        read_submission(copied)


def test_a_submission_can_be_read_from_within_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = submission_of(new_folder(tmp_path))
    write_submission(made)
    monkeypatch.chdir(made.folder)
    assert read_submission(Path()).number == 1


ATTEMPT = Attempt(
    worker=0,
    generation=1,
    node_id="n1",
    job="12",
    folder="/home/me/results/mine/n1",
    started_at="2026-11-21T10:00:00+00:00",
    updated_at="",
    case_ids=("a", "b"),
    runs=12,
    left=12,
    left_s=3.5,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_limit_s", 10**400),
        ("time_limit_s", math.nan),
        ("time_limit_s", -1),
        ("jobs", [{"job_id": "12", "first_worker": 0, "workers": 10**18}]),
        ("jobs", [{"job_id": "12", "first_worker": -1, "workers": 1}]),
    ],
)
def test_numbers_that_no_submission_has_are_refused(
    tmp_path: Path, name: str, value: object
) -> None:
    path = submission_of(new_folder(tmp_path)).with_job(Submitted("12", 0, 2)).folder / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(UserError, match="is no submission"):
        read_submission(path.parent)


@pytest.mark.parametrize(
    ("system", "job_id"),
    [
        *(
            ("slurm", job_id)
            for job_id in ("", "1;", "1;-a", "1;a b", "1;a,b", "-j", "1_2", "x" * 99)
        ),
        *(("commands", job_id) for job_id in ("", "-a", "a b", "$(id)", "../x")),
        *(("pbs", job_id) for job_id in ("", "-Wforce", "$(id)", "../24.vm")),
        *(("flux", job_id) for job_id in ("--all", "ƒ", "ƒ0", "12", "ƒ" + "z" * 99)),
    ],
)
def test_ids_that_are_none_of_the_batch_system_are_refused(
    tmp_path: Path, system: str, job_id: str
) -> None:
    written = submission_of(new_folder(tmp_path), system=system)
    written.with_job(Submitted(job_id, 0, 2))
    with pytest.raises(UserError, match=f"is no id of a job of {system}"):
        read_submission(written.folder)


def test_an_attempt_tells_what_it_does(tmp_path: Path) -> None:
    first = AttemptFile(tmp_path, ATTEMPT)
    first.write()
    first.write(left=11, left_s=3.0)
    AttemptFile(tmp_path, structs.replace(ATTEMPT, generation=2)).write(ended=75, reason="SIGTERM")
    told = read_attempts(tmp_path)
    assert [(each.generation, each.left, each.ended) for each in told] == [
        (1, 11, None),
        (2, 12, 75),
    ]
    assert told[0].case_ids == ("a", "b")


def test_an_attempt_that_cannot_be_told_of_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    AttemptFile(tmp_path / "file", ATTEMPT).write(left=3)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"worker": "x"}', "[" * 100_000, "\0"])
def test_what_is_no_attempt_is_passed_over(tmp_path: Path, text: str) -> None:
    AttemptFile(tmp_path, ATTEMPT).write()
    (tmp_path / "w000.g0002.json").write_text(text)
    assert [attempt.generation for attempt in read_attempts(tmp_path)] == [1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("left_s", value) for value in ("nan", "1_0", "3.5", True, math.nan, math.inf, -1)),
        *(("left_s", value) for value in (1e308, 10**400)),
        *((name, -1) for name in ("worker", "generation", "runs", "left", "ended")),
        ("runs", 10**30),
        ("ended", 256),
    ],
)
def test_an_attempt_with_numbers_that_none_has_is_passed_over(
    tmp_path: Path, name: str, value: object
) -> None:
    AttemptFile(tmp_path, ATTEMPT).write()
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    assert read_attempts(tmp_path) == []


def test_odd_job_ids_are_words_for_people_and_bounded() -> None:
    assert job_of(open_system("pbs"), {"PBS_JOBID": "5[0].vm"}) == "5[0].vm"
    assert job_of(open_system("flux"), {"FLUX_JOB_ID": "ƒ" + "x" * 500}) == "ƒ" + "x" * 79 + "…"
    assert job_of(open_system("slurm"), {"SLURM_JOB_ID": "14", "SLURM_ARRAY_JOB_ID": "12"}) == "12"
    assert job_of(open_system("slurm"), {}) == ""


def test_a_worker_tells_short_runs_together(tmp_path: Path) -> None:
    file = AttemptFile(tmp_path, structs.replace(ATTEMPT, runs=100, left=100))
    file.write_if_due(left=100)
    (path,) = tmp_path.iterdir()
    first = path.read_bytes()
    for left in range(100):
        file.write_if_due(left=left)
    assert file.attempt.left == 99
    assert path.read_bytes() == first
    file.write(ended=0)
    assert b'"left": 99' in path.read_bytes()


OWN_SITE = """\
title: x
batch_system:
  submit: touch {script}
  poll: touch executed {job}
  cancel: touch executed {job}
  patterns: {job: '.+', pending: P, running: R, ended: E}
time_limit: 1 h
"""


def own_submission(tmp_path: Path, site: Path) -> Submission:
    """Return a submission by the commands of a site's file, which is written."""
    site.parent.mkdir(parents=True, exist_ok=True)
    site.write_text(OWN_SITE)
    folder = new_folder(tmp_path / "results" / "mine")
    return submission_of(folder, system="commands", site_path=str(site))


def test_the_commands_of_a_site_are_those_of_its_own_file(tmp_path: Path) -> None:
    submission = own_submission(tmp_path, tmp_path / "there.yaml")
    write_submission(submission)
    assert read_submission(submission.folder) == submission
    assert submission.open_system().name == "the batch system of there"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_the_commands_of_another_users_file_are_not_run(tmp_path: Path) -> None:
    submission = own_submission(tmp_path, tmp_path / "there.yaml")
    os.chown(submission.site_path, 4711, -1)
    with pytest.raises(UserError, match=r"there.yaml: is not your file; its commands are not run"):
        submission.open_system()


def test_commands_in_the_results_of_the_study_are_not_run(tmp_path: Path) -> None:
    planted = tmp_path / "results/mine/submissions/0001/site/there.yaml"
    planted.parent.mkdir(parents=True)
    submission = own_submission(tmp_path, planted)
    with pytest.raises(UserError, match=r"there.yaml: is not your file; its commands are not run"):
        submission.open_system()


def test_a_site_whose_commands_are_gone_is_named(tmp_path: Path) -> None:
    submission = own_submission(tmp_path, tmp_path / "there.yaml")
    (tmp_path / "there.yaml").write_text("title: x\nbatch_system: slurm\ntime_limit: 1 h\n")
    with pytest.raises(UserError, match=r"there.yaml: has no commands for a batch system any more"):
        submission.open_system()
