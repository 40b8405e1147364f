"""Records of a node before and after it changed, put together by hand, are not taken together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.results.sources import open_results
from base.errors import UserError
from runners.node.node import open_node
from tests.support.cli import pinstudy
from tests.support.results import Record, record, write
from tests.support.trees import Machine, build_tree
from tests.support.trees import write as write_file

KERNEL = "proc/sys/kernel/osrelease"


def test_runs_of_two_kernels_are_refused_by_what_differs(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(cores=("0",)))
    digests = []
    for release in ("6.1.0-55-amd64", "6.1.0-56-amd64"):
        write_file(root, KERNEL, release)
        node = open_node(root)
        digests.append(node.digest)
        nodes = tmp_path / "results" / "nodes"
        nodes.mkdir(parents=True, exist_ok=True)
        (nodes / f"{node.digest}.json").write_text(json.dumps(node.facts))
    runs = [record(1, number, node_digest=digest) for number, digest in enumerate(digests, 1)]
    write(tmp_path / "results", runs)

    with pytest.raises(UserError) as refused:
        open_results(str(tmp_path / "results"))

    assert "before and after node 'node1' changed" in str(refused.value)
    assert "kernel was '6.1.0-55-amd64', now '6.1.0-56-amd64'" in str(refused.value)
    for file in nodes.iterdir():
        file.unlink()
    with pytest.raises(UserError, match="compare the files in"):
        open_results(str(tmp_path / "results"))


def test_interchangeable_nodes_are_one_node(tmp_path: Path) -> None:
    shared = {"pool": "split-there", "node_digest": "same"}
    runs = [record(1, n, node_id=f"n{n}", block=n, **shared) for n in (1, 2)]
    write(tmp_path, runs)
    assert open_results(str(tmp_path)).runs is not None


@pytest.mark.parametrize(("field", "what"), [("node_id", "nodes"), ("study", "studies")])
@pytest.mark.parametrize(
    "command",
    ["tables", "tables --json", "tables --format csv", "verdict", "verdict --json", "report",
     "figures"],
)  # fmt: skip
def test_runs_of_several_nodes_or_studies_in_one_folder_are_refused(
    tmp_path: Path, command: str, field: str, what: str
) -> None:
    write(tmp_path, [record(1, n, **{field: name}) for n, name in enumerate("ab", 1)])
    before = sorted(tmp_path.rglob("*"))

    done = pinstudy(tmp_path, *command.split(), str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert f"holds runs of several {what} ('a', 'b')" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"node_id": "b"}, "several nodes"),
        ({"study": "b"}, "several studies"),
        ({"node_digest": "b"}, "before and after node 'node1' changed"),
        ({"program_digest": "b"}, "two programs"),
    ],
)
def test_the_same_repetitions_made_elsewhere_are_no_second_records_of_them(
    tmp_path: Path, fields: Record, what: str
) -> None:
    first = [record(1, number, program_digest="a") for number in (1, 2)]
    write(tmp_path, [*first, *(run | fields for run in first)])
    with pytest.raises(UserError, match=what):
        open_results(str(tmp_path))


def test_runs_of_two_studies_of_one_name_are_refused_by_their_files(tmp_path: Path) -> None:
    write(tmp_path, [record(1, n) for n in (1, 2)])
    write(tmp_path, [record(1, n, study_digest="e" * 64) for n in (3, 4)], attempt=2)

    for command in ("tables", "verdict", "report"):
        done = pinstudy(tmp_path, command, str(tmp_path), status=2)
        (line,) = done.stderr.splitlines()
        assert "holds runs of two studies named 'paper-serial', or of before and" in line
        assert "(records/node1-0001.jsonl of the one, records/node1-0002.jsonl of the " in line
        assert "move the files of one of the two out of records/" in line


def test_runs_of_two_studies_of_one_name_in_one_file_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1), record(1, 2, study_digest="e" * 64)])
    with pytest.raises(UserError, match=r"both in records/node1-0001\.jsonl"):
        open_results(str(tmp_path))


ATTEMPTS = {1: {"epp": "power"}, 2: {"epp": "performance"}}


def test_settings_that_were_not_the_same_in_all_runs_of_a_row_are_told(tmp_path: Path) -> None:
    limits = {n: {"power_limits": {"package-0": {"pl1_w": 45.0 + n}}} for n in (1, 2)}
    runs = [
        record(1, n, attempt=n, min_khz={"400000": "0-7"}, **ATTEMPTS[n], **limits[n])
        for n in (1, 2)
    ]
    write(tmp_path, runs)
    (told,) = (of for of in open_results(str(tmp_path)).footnotes if "settings" in of)
    assert "EPP power (attempt 1); performance (attempt 2)" in told
    assert "PL1 of package-0 (W) 46 (attempt 1); 47 (attempt 2)" in told
    assert "lowest" not in told


def test_rows_with_settings_of_their_own_are_no_difference(tmp_path: Path) -> None:
    write(tmp_path, [record(n, 1, **ATTEMPTS[n]) for n in (1, 2)])
    assert not any("settings" in of for of in open_results(str(tmp_path)).footnotes)


def test_runs_in_two_environments_are_told_with_what_differs(tmp_path: Path) -> None:
    digests = "a" * 64, "b" * 64
    (tmp_path / "environments").mkdir()
    for value, digest in enumerate(digests):
        variables = {"OMP_STACKSIZE": f"{value}M"}
        kept_there = tmp_path / "environments" / f"{digest}.json"
        kept_there.write_text(json.dumps({"variables": variables}))
    runs = [record(1, n, environment_digest=digest) for n, digest in enumerate(digests, 1)]
    write(tmp_path, runs)
    footnote = "runs of a row inherited unlike variables: OMP_STACKSIZE was '0M', now '1M'"
    assert footnote in open_results(str(tmp_path)).footnotes


def kept(folder: Path, digest: str, program: str) -> None:
    """Keep the files of a program beside the records."""
    files = {"program": {"path": "/opt/lulesh", "sha256": program}}
    (folder / "programs").mkdir(exist_ok=True)
    (folder / "programs" / f"{digest}.json").write_text(json.dumps({"files": files}))


def test_runs_of_two_builds_are_never_averaged(tmp_path: Path) -> None:
    first, second = "a" * 64, "b" * 64
    write(tmp_path, [record(1, 1, program_digest=first), record(2, 1, program_digest=second)])
    kept(tmp_path, first, "1" * 64)
    kept(tmp_path, second, "2" * 64)

    with pytest.raises(UserError) as refused:
        open_results(str(tmp_path))

    assert "two programs for lulesh-serial, size paper, threads 1: " in str(refused.value)
    assert "'program' was 111111111111, now 222222222222: /opt/lulesh" in str(refused.value)


@pytest.mark.parametrize("file", ["", "[]", "{}", '{"files": 1}', '{"files": {"program": 1}}'])
def test_runs_of_two_builds_are_refused_whatever_is_known_of_them(
    tmp_path: Path, file: str
) -> None:
    digests = "a" * 64, "../" + "b" * 61
    write(tmp_path, [record(1, n, program_digest=digest) for n, digest in enumerate(digests, 1)])
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / f"{digests[0]}.json").write_text(file)

    with pytest.raises(UserError, match="which files differ is not known"):
        open_results(str(tmp_path))


def test_builds_sizes_and_thread_counts_are_programs_of_their_own(tmp_path: Path) -> None:
    others: list[Record] = [{}, {"build": "libgomp"}, {"size": "s2"}, {"threads": 2}]
    runs = [
        record(1, 1, case_id=f"c{at}", program_digest=f"{at}" * 64, **fields)
        for at, fields in enumerate(others)
    ]
    write(tmp_path, [*runs, record(1, 2, case_id="c0")])

    assert open_results(str(tmp_path)).runs is not None
