"""Options that change a study's cases: what runs then, and that results are not mixed."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from pinstudy.configs.library import load_study
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.records.line import line_of
from tests.support.cli import pinstudy, started
from tests.support.studies import records, write_app, write_study

MAPPINGS = ["unpinned", {"name": "other", "selection": "all", "binding": "set"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_app(
        tmp_path, "nothing", "/bin/true", {"one": {"arguments": []}, "two": {"arguments": "x"}}
    )
    write_study(tmp_path, "nothings", "nothing", ["one", "two"], mappings=MAPPINGS)
    return tmp_path


def ran(folder: Path) -> set[tuple[str, str]]:
    return {(run["size"], run["mapping"]) for run in records(folder)}


def test_only_the_chosen_cases_run_and_resume(folder: Path) -> None:
    options = ("nothings.yaml", "--only", "two", "--exclude", "other")
    plan = pinstudy(folder, "plan", *options, status=0).stdout
    assert "1 case" in plan and "other" not in plan
    pinstudy(folder, "run", *options, status=0)
    assert ran(folder) == {("two", "unpinned")}
    done = pinstudy(folder, "run", *options, "--repetitions", "2", status=0)
    assert "2 runs, 1 of them done already" in done.stdout
    (copy,) = folder.glob("results/nothings/*/study.yaml")
    first, *_ = copy.read_text().splitlines()
    assert first == "# Run with --only two --exclude other --repetitions 2."


def test_a_resume_with_other_options_is_refused_and_names_both(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", "--only", "two", status=0)
    before = records(folder)
    for options, now in (([], "no options"), (["--mappings", "unpinned"],) * 2):
        done = pinstudy(folder, "run", "nothings.yaml", *options, status=2)
        said = now if isinstance(now, str) else " ".join(now)
        assert f"(run with --only two, and now with {said})" in done.stderr
        assert "--fresh" in done.stderr
    assert records(folder) == before
    pinstudy(folder, "run", "nothings.yaml", "--mappings", "unpinned", "--fresh", status=0)
    pinstudy(folder, "run", "nothings.yaml", "--mappings", "unpinned", status=0)


def added(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the options that an error says to add, and assert that it is one line."""
    (line,) = done.stderr.splitlines()
    assert "can run then" in line
    return shlex.split(line.rpartition("; add ")[2].partition(": ")[0])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"mappings": "lpecores-pin"}, ["--mappings"]),
        ({"mappings": "unpinned", "governors": ["conservative"]}, ["--governors", "current"]),
        ({"mappings": "lpecores-pin", "governors": "ondemand"}, ["--governors", "--mappings"]),
    ],
)
def test_a_study_without_a_run_says_which_options_make_some(
    folder: Path, keys: dict[str, object], expected: list[str]
) -> None:
    if "governors" in keys and read_cpufreq(Path("/")).policies:
        pytest.skip("this node has governors")
    write_study(folder, "none", "nothing", "one", **keys)
    done = pinstudy(folder, "run", "none.yaml", status=1)
    options = added(done)
    assert [word for word in options if word in expected] == expected
    assert added(pinstudy(folder, "plan", "none.yaml", status=1)) == options
    pinstudy(folder, "run", "none.yaml", *options, status=0)
    assert records(folder)


def test_too_many_threads_are_told_how_many_run(folder: Path) -> None:
    done = pinstudy(folder, "plan", "paper-own-parallel", "--threads", "4096", status=1)
    options = added(done)
    pinstudy(folder, "plan", "paper-own-parallel", "--threads", "4096", *options, status=0)


def test_where_results_are_the_options_begin_anew(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", status=0)
    path = write_study(folder, "nothings", "nothing", "one", mappings="lpecores-pin")
    # As of runs from before the node lost its LP-E-cores.
    digest = load_study(path).digest
    (shard,) = folder.glob("results/nothings/*/records/*.jsonl")
    shard.write_bytes(b"".join(line_of(r | {"study_digest": digest}) for r in records(folder)))

    options = added(pinstudy(folder, "run", "nothings.yaml", status=1))

    assert options[-1] == "--fresh"
    pinstudy(folder, "run", "nothings.yaml", *options, status=0)


def test_a_run_that_waits_says_for_whom_and_begins_when_the_node_is_free(folder: Path) -> None:
    refused = "another pinstudy is at work on this node"
    with ExitStack() as at_end:
        node = at_end.enter_context(ExitStack())
        node.enter_context(node_lock(Path("/")))
        assert refused in pinstudy(folder, "run", "nothings.yaml", status=1).stderr
        process = at_end.enter_context(started(folder, "run", "nothings.yaml", "--wait"))
        assert process.stderr is not None
        first = process.stderr.readline()
        assert "waiting for the node; another pinstudy is at work (process" in first
        assert not (folder / "results").exists()
        node.close()
        process.communicate()
    assert process.returncode == 0
    assert len(records(folder)) == 4


def test_results_are_not_continued_once_the_study_excludes_more(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", status=0)
    excluded: list[dict[str, str]] = [{"sizes": "two", "mappings": "other"}]
    write_study(folder, "nothings", "nothing", ["one", "two"], mappings=MAPPINGS, exclude=excluded)
    done = pinstudy(folder, "run", "nothings.yaml", status=2)
    assert "nothings.yaml has changed since" in done.stderr
    pinstudy(folder, "run", "nothings.yaml", "--fresh", status=0)
    assert ran(folder) >= {("one", "other"), ("two", "unpinned")}
    excluded = [{"sizes": "one"}, {"sizes": "two"}]
    write_study(folder, "none", "nothing", ["one", "two"], mappings=MAPPINGS, exclude=excluded)
    for command in ("plan", "run"):
        done = pinstudy(folder, command, "none.yaml", status=1)
        assert done.stderr == (
            "pinstudy: nothing of study none can run here: `exclude` leaves out every case\n"
        )


def test_results_of_another_study_are_called_by_its_name(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", status=0)
    (results,) = folder.glob("results/nothings/*")
    (folder / "results" / "more").mkdir()
    results.rename(folder / "results" / "more" / results.name)
    write_study(folder, "more", "nothing", "one")
    done = pinstudy(folder, "run", "more.yaml", status=2)
    assert "holds runs of study 'nothings', not of 'more'; name another folder" in done.stderr
