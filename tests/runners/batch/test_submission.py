"""How a study is spread and submitted, what is read back of it, and which attempt goes on."""

from __future__ import annotations

import json
import math
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from pinstudy.base.errors import StudyError, UserError
from pinstudy.configs.library import load_study
from pinstudy.configs.overrides import Overrides
from pinstudy.configs.repetitions import Decide
from pinstudy.configs.site import Queue, Site
from pinstudy.configs.study import SPLIT, Spread, Study
from pinstudy.runners.batch.submission import (
    FILE,
    Attempt,
    AttemptFile,
    Submission,
    Worker,
    job_of,
    new_folder,
    read_attempts,
    read_submission,
    submissions_of,
    write_submission,
)
from pinstudy.runners.batch.submit import (
    SubmitOptions,
    blocks_left,
    per_node_workers,
    pool_of,
    split_workers,
    spread_of,
)
from pinstudy.runners.batch.worker import Fence
from pinstudy.runners.batch_systems.interface import Submitted
from pinstudy.runners.batch_systems.registry import open_system

QUEUE = Queue("slurm", 3600.0, nodes=("n1", "n2"))
FEATURES = replace(QUEUE, nodes=(), features=("hybrid", "homog"))
SITE = Site("there", "A site", queue=QUEUE)
STUDY = load_study("quick", Overrides(repetitions=5))


def spread(study: Study = STUDY, queue: Queue = QUEUE, **wanted: Any) -> Spread:  # noqa: ANN401
    return spread_of(study, SITE, queue, SubmitOptions(**wanted))


@pytest.mark.parametrize(
    ("queue", "wanted", "targets"),
    [
        # Without a word the study is made whole on each node of the site, or with each feature.
        (QUEUE, {}, ["node n1", "node n2"]),
        (FEATURES, {}, ["feature hybrid", "feature homog"]),
        (replace(QUEUE, nodes=()), {}, ["any node"]),
        # A node that is named twice gets one worker.
        (QUEUE, {"nodes": ("n1", "n2", "n1")}, ["node n1", "node n2"]),
    ],
)
def test_there_is_a_worker_for_each_node_or_feature(
    queue: Queue, wanted: dict[str, Any], targets: list[str]
) -> None:
    workers = per_node_workers(spread(queue=queue, **wanted))
    assert [worker.target for worker in workers] == targets
    assert [worker.number for worker in workers] == list(range(len(targets)))
    assert not any(worker.blocks for worker in workers)


def test_the_command_line_comes_before_the_study_and_that_before_the_site() -> None:
    study = replace(STUDY, spread=Spread("elsewhere", "per-node", features=("fast",)))
    assert spread(study) == Spread("there", "per-node", features=("fast",))
    assert spread(study, nodes=("n9",)) == Spread("there", "per-node", nodes=("n9",))
    assert spread(study, how="split", workers=3) == Spread("there", "split", (), ("fast",), 3)
    # What belongs to the study's own way is left behind.
    on_nodes = replace(STUDY, spread=Spread("elsewhere", "per-node", nodes=("n1", "n2")))
    assert spread(on_nodes, how="split", workers=2) == Spread("there", "split", workers=2)
    shared = replace(STUDY, spread=Spread("elsewhere", "split", workers=2))
    assert spread(shared, how="per-node", nodes=("n1",)) == Spread("there", nodes=("n1",))


@pytest.mark.parametrize(
    ("changes", "wanted", "message"),
    [
        ({}, {"nodes": ("n1",), "features": ("hybrid",)}, "nodes and features are both given"),
        ({}, {"workers": 2}, "per-node has one worker for each node"),
        ({}, {"how": "split"}, "--workers N"),
        ({}, {"how": "split", "workers": 2, "nodes": ("n1",)}, "any interchangeable nodes"),
        ({}, {"how": "split", "workers": 2, "features": ("a", "b")}, "nodes with one feature"),
        ({"decide": Decide(5, 50)}, {"how": "split", "workers": 2}, "one node alone can tell"),
        ({"latency": "all"}, {"how": "split", "workers": 2}, "a node's own"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    changes: dict[str, Any], wanted: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        spread(replace(STUDY, **changes), **wanted)


@given(st.lists(st.integers(1, 500), unique=True), st.integers(1, 60))
def test_workers_split_a_study_into_about_equal_parts(blocks: list[int], many: int) -> None:
    workers = split_workers(Spread("there", "split", workers=many), blocks)
    shares = [len(worker.blocks) for worker in workers]
    assert sorted(block for worker in workers for block in worker.blocks) == sorted(blocks)
    assert not shares or max(shares) - min(shares) <= 1
    assert [worker.number for worker in workers] == list(range(min(many, len(blocks))))


def test_a_block_is_left_while_one_of_its_cases_lacks_it() -> None:
    study = replace(STUDY, repetitions=3)
    done = {("a", False, 1), ("b", False, 1), ("a", False, 2), ("a", False, 3), ("b", True, 2)}
    assert blocks_left(study, ("a", "b"), done) == [2, 3]
    assert blocks_left(study, ("a",), done) == []


@pytest.mark.parametrize(("site", "pool"), [("there", "split-there"), ("../x y", "split-x-y")])
def test_a_pool_is_named_so_that_no_node_is(site: str, pool: str) -> None:
    assert pool_of(Site(site, "t")) == pool


def submission_of(folder: Path, **changes: Any) -> Submission:  # noqa: ANN401
    """Return a submission of a study that two workers divide, changed as asked."""
    fields: dict[str, Any] = {
        **{"folder": folder, "study": "/home/me/mine.yaml", "name": "mine", "digest": "d" * 64},
        **{"results": "/home/me/results", "site": "there", "site_path": "/home/me/there.yaml"},
        **{"system": "slurm", "how": SPLIT, "pool": "split-there", "time_limit_s": 600.0},
        **{"kinds": None, "allow_emulation": False, "jobs": ()},
        "submitted_at": "2026-11-21T10:00:00+00:00",
        "arguments": ("/home/me/mine.yaml", "--site", "there"),
        "workers": (Worker(0, feature="hybrid", blocks=(1, 3)), Worker(1, blocks=(2,))),
    }
    return Submission(**fields | changes)


@pytest.fixture
def written(tmp_path: Path) -> Submission:
    """A submission of one job for both workers, as it was written."""
    return submission_of(new_folder(tmp_path)).with_job(Submitted("12", 0, 2))


def test_a_submission_is_read_back(written: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_submission(written.folder) == written
    # A folder without its file is a submission that was never made.
    new_folder(written.folder.parents[1])
    assert submissions_of(written.folder.parents[1]) == [written]
    monkeypatch.chdir(written.folder)
    assert read_submission(Path()).number == 1


def test_users_who_submit_at_the_same_time_get_folders_of_their_own(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("number", [-1, 2])
def test_a_worker_that_was_not_submitted_is_refused(tmp_path: Path, number: int) -> None:
    with pytest.raises(UserError, match=f"has no worker {number}; expected one from 0 to 1"):
        submission_of(tmp_path).worker(number)


def test_a_folder_that_is_not_shared_or_has_no_number_is_named(written: Submission) -> None:
    copied = written.folder.rename(written.folder.with_name("copied"))
    with pytest.raises(UserError, match="is the results folder shared with this node"):
        read_submission(written.folder)
    with pytest.raises(UserError, match=r"\(its folder is named 'copied', and not by its number"):
        read_submission(copied)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"schema": 2}'])
def test_what_is_no_submission_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UserError, match=r"submission.json: .*; move its folder elsewhere"):
        read_submission(tmp_path)


def job(job_id: str, first_worker: int = 0, workers: int = 2) -> dict[str, object]:
    return {"job_id": job_id, "first_worker": first_worker, "workers": workers}


ODD_IDS = {
    "slurm": ["", "1;", "1;-a", "1;a b", "1;a,b", "-j", "1_2", "x" * 99],
    "commands": ["", "-a", "a b", "$(id)", "../x"],
    "pbs": ["", "-Wforce", "$(id)", "../24.vm"],
    "flux": ["--all", "ƒ", "ƒ0", "12", "ƒ" + "z" * 99],
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"time_limit_s": odd}, "is no submission") for odd in (10**400, math.nan, -1)),
        ({"jobs": [job("12", workers=10**18)]}, "is no submission"),
        ({"jobs": [job("12", first_worker=-1)]}, "is no submission"),
        *(
            ({"system": system, "jobs": [job(job_id)]}, f"is no id of a job of {system}")
            for system, ids in ODD_IDS.items()
            for job_id in ids
        ),
    ],
)
def test_numbers_and_ids_that_no_submission_has_are_refused(
    written: Submission, changes: dict[str, object], message: str
) -> None:
    path = written.folder / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(UserError, match=message):
        read_submission(written.folder)


SPOILED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spoiled") / "0001"
    path.mkdir()
    return path


@given(st.data())
@settings(max_examples=60)
def test_a_spoiled_file_is_one_line_that_names_it(folder: Path, data: st.DataObject) -> None:
    if not (folder / "sound").exists():
        write_submission(submission_of(folder))
        (folder / FILE).rename(folder / "sound")
    fields = json.loads((folder / "sound").read_bytes())
    key = data.draw(st.sampled_from(sorted(fields)))
    kept = fields.pop(key)
    if data.draw(st.booleans()):
        fields[key] = data.draw(SPOILED.filter(lambda value: type(value) is not type(kept)))
    (folder / FILE).write_text(json.dumps(fields))
    value = fields.get(key)
    is_time = type(value) is int and 0 <= value <= 10**10
    try:
        # Other values of these two are sound too.
        if (key == "kinds" and isinstance(value, str)) or (key == "time_limit_s" and is_time):
            assert getattr(read_submission(folder), key) == value
            return
        with pytest.raises(UserError, match=FILE) as raised:
            read_submission(folder)
        assert "\n" not in str(raised.value)
    finally:
        (folder / FILE).unlink()


ATTEMPT = Attempt(
    *(0, 1, "n1", "12", "/home/me/results/mine/n1", "2026-11-21T10:00:00+00:00", ""),
    case_ids=("a", "b"),
    runs=100,
    left=12,
    left_s=3.5,
)


def test_an_attempt_tells_what_it_does(tmp_path: Path) -> None:
    first = AttemptFile(tmp_path, ATTEMPT)
    first.write()
    first.write(left=11, left_s=3.0)
    AttemptFile(tmp_path, structs.replace(ATTEMPT, generation=2)).write(ended=75, reason="SIGTERM")
    (tmp_path / "file").touch()
    # One that cannot be told of stops nothing.
    AttemptFile(tmp_path / "file", ATTEMPT).write(left=3)
    told = read_attempts(tmp_path)
    assert [(made.generation, made.left, made.ended) for made in told] == [
        (1, 11, None),
        (2, 12, 75),
    ]
    assert told[0].case_ids == ("a", "b")


def test_a_worker_tells_short_runs_together(tmp_path: Path) -> None:
    file = AttemptFile(tmp_path, ATTEMPT)
    file.write_if_due(left=100)
    (path,) = tmp_path.iterdir()
    first = path.read_bytes()
    for left in range(100):
        file.write_if_due(left=left)
    assert file.attempt.left == 99
    assert path.read_bytes() == first
    file.write(ended=0)
    assert b'"left": 99' in path.read_bytes()


ODD_NUMBERS: dict[str, list[object]] = {
    "left_s": ["nan", "1_0", "3.5", True, math.nan, math.inf, -1, 1e308, 10**400],
    "runs": [-1, 10**30],
    "ended": [-1, 256],
    **{name: [-1] for name in ("worker", "generation", "left")},
}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", '{"worker": "x"}', "[" * 100_000, "\0"),
        *(
            json.dumps(structs.asdict(ATTEMPT) | {name: value})
            for name, values in ODD_NUMBERS.items()
            for value in values
        ),
    ],
)
def test_what_is_no_attempt_is_passed_over(tmp_path: Path, text: str) -> None:
    AttemptFile(tmp_path, ATTEMPT).write()
    (tmp_path / "w000.g0002.json").write_text(text)
    assert [attempt.node_id for attempt in read_attempts(tmp_path)] == ["n1"]


@pytest.mark.parametrize(
    ("system", "environment", "job_id"),
    [
        ("pbs", {"PBS_JOBID": "5[0].vm"}, "5[0].vm"),
        ("flux", {"FLUX_JOB_ID": "ƒ" + "x" * 500}, "ƒ" + "x" * 79 + "…"),
        ("slurm", {"SLURM_JOB_ID": "14", "SLURM_ARRAY_JOB_ID": "12"}, "12"),
        ("slurm", {}, ""),
    ],
)
def test_odd_job_ids_are_bounded(system: str, environment: dict[str, str], job_id: str) -> None:
    assert job_of(open_system(system), environment) == job_id


OWN_SITE = """\
title: x
batch_system:
  submit: touch {script}
  poll: touch executed {job}
  cancel: touch executed {job}
  patterns: {job: '.+', pending: P, running: R, ended: E}
time_limit: 1 h
"""
PLANTED = "results/mine/submissions/0001/site/there.yaml"


@pytest.mark.parametrize(
    ("site", "text", "owner", "problem"),
    [
        ("there.yaml", OWN_SITE, None, ""),
        ("there.yaml", OWN_SITE, 4711, "is not your file; its commands are not run"),
        # In the results of the study.
        (PLANTED, OWN_SITE, None, "is not your file; its commands are not run"),
        (
            *("there.yaml", "title: x\nbatch_system: slurm\ntime_limit: 1 h\n", None),
            "has no commands for a batch system any more",
        ),
    ],
)
def test_the_commands_of_a_site_are_those_of_its_own_file(
    tmp_path: Path, site: str, text: str, owner: int | None, problem: str
) -> None:
    if owner and os.geteuid() != 0:
        pytest.skip("only root can give a file to somebody else")
    path = tmp_path / site
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.chown(path, owner or -1, -1)
    folder = new_folder(tmp_path / "results" / "mine")
    submission = submission_of(folder, system="commands", site_path=str(path))
    write_submission(submission)
    assert read_submission(folder) == submission
    if problem:
        with pytest.raises(UserError, match=f"there.yaml: {problem}"):
            submission.open_system()
    else:
        assert submission.open_system().name == "the batch system of there"


def test_generations_of_a_slot_count_from_one_whatever_clocks_say(tmp_path: Path) -> None:
    fence = Fence(tmp_path / "fence")
    assert fence.newest_of_all() == {}
    assert [fence.claim_next("slot") for _ in range(3)] == [1, 2, 3]
    # The name of a slot may begin as another's.
    fence.claim("slot.g-w001", 9)
    # The newest attempt's node has a clock that is a year behind.
    os.utime(tmp_path / "fence" / "slot.g0003", (0, 0))
    assert fence.newest_of_all() == {"slot": 3, "slot.g-w001": 9}


def claim(folder: Path) -> int:
    return Fence(folder).claim_next("slot")


def test_claims_at_the_same_time_get_different_generations(tmp_path: Path) -> None:
    with ProcessPoolExecutor(8) as pool:
        taken = list(pool.map(claim, [tmp_path] * 64))
    assert sorted(taken) == list(range(1, 65))


@pytest.mark.parametrize("generation", ["999999999", "999999500"])
def test_a_generation_that_none_can_follow_is_named(tmp_path: Path, generation: str) -> None:
    (tmp_path / f"slot.g{generation}").touch()
    with pytest.raises(StudyError, match=rf"^{tmp_path}/slot\.g{generation}: no worker has"):
        claim(tmp_path)
    assert Fence(tmp_path).claim_next("other") == 1


ODD = ["9" * 20, "9" * 240, "-001", "\u0661\u0662\u0663\u0664", "+0001", "xxxx", "1"]


@pytest.mark.parametrize("name", [*(f"slot.g{odd}" for odd in ODD), ".slot.g0009.tmp", "slot"])
def test_what_is_no_generation_claims_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert Fence(tmp_path).newest_of_all() == {}
    assert claim(tmp_path) == 1


class LateListing(Fence):
    """A fence on a network file system whose listings are from before the first claim."""

    def newest_of_all(self) -> dict[str, int]:
        return {}


def test_a_claim_that_is_not_listed_yet_is_not_taken_again(tmp_path: Path) -> None:
    fence = LateListing(tmp_path)
    assert [fence.claim_next("slot") for _ in range(3)] == [1, 2, 3]


def test_a_fence_that_cannot_be_read_is_no_permission_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="cannot be read"):
        Fence(tmp_path / "file").newest_of_all()
    with pytest.raises(StudyError):
        claim(tmp_path / "file")
