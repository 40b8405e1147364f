"""`pinstudy artifact`: a folder for a reviewer, which makes its tables and verdict again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base import VERSION
from tests.analysis.advice.simulated_race import GAIN, write_results
from tests.support.cli import pinstudy
from tests.support.results import record, write
from tests.support.tools import ROOT
from tests.support.wait import HANG_S

# Two mappings, six runs each, a minute apart.
TIMES = {1: (1.00, 1.01, 1.02, 1.00, 1.01, 1.02), 3: (0.90, 0.91, 0.92, 0.90, 0.91, 0.92)}
STUDY = """# Run with --repetitions 6.
title: A study of two mappings
apps: {app: lulesh, builds: serial, sizes: paper, threads: 1}
mappings: [unpinned, pcores-pin]
repetitions: 3
"""
OF_STUDY = "results/quick/node1"
MADE = ("tables.csv", "tables.md", "tables.tex", "verdict.md")


def make_results(folder: Path) -> Path:
    runs = [
        record(
            number,
            repetition,
            study="quick",
            study_file="quick",
            # In turn: odd minutes and even ones.
            order=2 * repetition - (number == 1),
            started_at=f"2025-03-01T12:{2 * repetition - (number == 1):02d}:00Z",
            elapsed_s=seconds,
            program_digest="p1",
            versions={"pinstudy": "0.1.9"},
        )
        for number, times in TIMES.items()
        for repetition, seconds in enumerate(times, 1)
    ]
    write(folder, runs)
    for name, text in {
        "study.yaml": STUDY,
        "apps/lulesh.yaml": "title: Lulesh\n",
        "nodes/n1.json": '{"node_id": "node1", "cpu_model": "Model_7 & Co", "kernel": "6.18"}',
        "programs/p1.json": '{"files": {}}',
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results, of which tables and verdict were made elsewhere, and an artifact."""
    folder = tmp_path_factory.mktemp("artifact")
    results = make_results(folder / "mine" / "quick" / "node1")
    pinstudy(folder, "tables", str(results), status=0)
    pinstudy(folder, "verdict", str(results), status=0)
    done = pinstudy(folder, "artifact", str(results), "-o", "made", status=0)
    assert f"written: {folder}/made (15 files" in done.stdout
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "made", tmp_path / "copy"))


def reproduce(folder: Path, called: Path | str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PINSTUDY": str(called), "PINSTUDY_RESULTS": "/nowhere"}
    return subprocess.run(
        [str(folder / "reproduce.sh")],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


@pytest.fixture
def command(tmp_path: Path) -> Path:
    path = tmp_path / "any-name"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/pinstudy "$@"\n')
    path.chmod(0o755)
    return path


def test_tables_and_verdict_come_again_byte_for_byte(copy: Path, command: Path) -> None:
    before = contents(copy)
    done = reproduce(copy, command)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"made by pinstudy {VERSION}" in done.stdout
    assert [f"same      {OF_STUDY}/{name}" in done.stdout for name in MADE] == [True] * 4
    assert contents(copy) == before


def test_the_line_to_try_works_as_it_stands(made: Path, tmp_path: Path) -> None:
    command = [str(ROOT / "bin" / "pinstudy"), "artifact", str(made / "made" / OF_STUDY)]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "again")], capture_output=True, text=True, check=True
    )
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("try it: "))
    tried = subprocess.run(
        ["sh", "-c", line.removeprefix("try it: ")], capture_output=True, text=True, check=True
    )
    assert "the same, byte for byte" in tried.stdout


def test_a_run_that_is_missing_is_found_and_shown(copy: Path, command: Path) -> None:
    shard = copy / OF_STUDY / "records" / "node1-0001.jsonl"
    shard.write_bytes(b"".join(shard.read_bytes().splitlines(keepends=True)[:-1]))
    done = reproduce(copy, command)
    assert done.returncode == 1
    assert f"{OF_STUDY}/records/node1-0001.jsonl: FAILED" in done.stdout
    assert f"DIFFERS   {OF_STUDY}/tables.md" in done.stdout
    assert "the same, byte for byte" not in done.stdout


def test_without_pinstudy_it_says_which_is_needed(copy: Path) -> None:
    done = reproduce(copy, "/no/pinstudy")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no /no/pinstudy: install pinstudy {VERSION}" in done.stderr


def test_the_same_results_give_the_same_bytes(made: Path, tmp_path: Path) -> None:
    # From elsewhere, by a link, into an empty folder, with all results kept elsewhere.
    (tmp_path / "link").symlink_to(made / "mine")
    (tmp_path / "again").mkdir()
    results = str(tmp_path / "link")
    done = pinstudy(
        tmp_path, "artifact", results, "-o", "again", "--json", status=0, PINSTUDY_RESULTS=results
    )
    told = json.loads(done.stdout)
    assert (told["files"], told["left_out"]) == (15, [])
    assert contents(tmp_path / "again") == contents(made / "made")


def test_it_has_what_the_results_have_and_their_digests(made: Path) -> None:
    found, results = contents(made / "made"), contents(made / "mine" / "quick" / "node1")
    for name, data in results.items():
        if name != "verdict.md":
            assert found[f"{OF_STUDY}/{name}"] == data
    listed = dict(line.split("  ")[::-1] for line in found["SHA256SUMS"].decode().splitlines())
    assert listed == {
        name: hashlib.sha256(data).hexdigest()
        for name, data in found.items()
        if name != "SHA256SUMS"
    }
    readme = found["README.md"].decode()
    assert "Names of nodes (node1)" in readme
    assert f"made by pinstudy {VERSION}, Python " in readme


def entities(made: Path) -> dict[str, dict[str, Any]]:
    metadata = json.loads((made / "made" / "ro-crate-metadata.json").read_text())
    assert metadata["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    found = {entity["@id"]: entity for entity in metadata["@graph"]}
    assert len(found) == len(metadata["@graph"])
    return found


def references(value: object) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(references, value))
    return {value["@id"]} if isinstance(value, dict) and set(value) == {"@id"} else set()


def test_its_metadata_keep_the_rules_of_ro_crate(made: Path) -> None:
    """Rules of RO-Crate 1.1: root data entity, data entities, flat and linked JSON-LD."""
    found = entities(made)
    descriptor = found["ro-crate-metadata.json"]
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = found["./"]
    assert all(root[name] for name in ("name", "description", "datePublished", "license"))
    assert root["datePublished"] == "2025-03-01"
    assert all(entity["@type"] for entity in found.values())
    # Every link leads to an entity, and to each entity leads one.
    outside = {"https://w3id.org/ro/crate/1.1", "http://schema.org/CompletedActionStatus"}
    links = {link for it in found.values() for value in it.values() for link in references(value)}
    assert links - outside == set(found) - {"ro-crate-metadata.json"}
    # Each file is part of the root, directly or by its folder.
    folder = found[f"{OF_STUDY}/"]
    parts = references(root["hasPart"]) | references(folder["hasPart"])
    files = contents(made / "made")
    assert parts == set(files) - {"ro-crate-metadata.json"} | {f"{OF_STUDY}/"}
    for name, data in files.items():
        if name not in ("ro-crate-metadata.json", "SHA256SUMS"):
            assert found[name]["@type"] == "File"
            assert found[name]["contentSize"] == str(len(data))
            assert found[name]["sha256"] == hashlib.sha256(data).hexdigest()


def test_runs_are_an_action_with_times_instrument_and_files(made: Path) -> None:
    found = entities(made)
    shard = f"{OF_STUDY}/records/node1-0001.jsonl"
    action = found[f"#runs-{shard}"]
    assert action["@type"] == "CreateAction"
    # The first run of row 1, and the last of row 3 with its 0.92 s.
    assert action["startTime"] == "2025-03-01T12:01:00+00:00"
    assert action["endTime"] == "2025-03-01T12:12:00+00:00"
    assert found[action["instrument"]["@id"]]["softwareVersion"] == "0.1.9"
    assert references(action["result"]) == {shard}
    assert references(action["object"]) == {
        f"{OF_STUDY}/{name}"
        for name in ("study.yaml", "apps/lulesh.yaml", "nodes/n1.json", "programs/p1.json")
    }
    tables = found[f"#tables-{OF_STUDY}"]
    assert found[tables["instrument"]["@id"]]["softwareVersion"] == VERSION
    assert references(tables["result"]) == {f"{OF_STUDY}/{name}" for name in MADE}


def test_the_appendix_tells_node_command_and_answer_for_both_formats(made: Path) -> None:
    markdown = (made / "made" / "artifact-appendix.md").read_text()
    latex = (made / "made" / "artifact-appendix.tex").read_text()
    assert "- **processor**: Model\\_7 \\& Co" in markdown
    assert r"\item[{processor}] Model\_7 \& Co" in latex
    for text in (markdown, latex):
        assert "pinstudy run quick.yaml --repetitions 6" in text
        # 6 runs of 1.01 s and 6 of 0.91 s on average: 11.52 s.
        assert "the runs took 12 s together" in text
        assert "Decision, time" in text
        assert "TO FILL IN" in text


def test_the_appendix_has_the_search_of_a_race_and_no_study(tmp_path: Path) -> None:
    results = write_results(tmp_path, GAIN)
    (results / "study.yaml").write_text("title: A search\n")
    pinstudy(tmp_path, "artifact", str(results), "-o", "made", status=0)
    appendix = (tmp_path / "made" / "artifact-appendix.md").read_text()
    assert "pinstudy advise --fresh -- '/home/user/my app' -n 100\n" in appendix
    assert "pinstudy run" not in appendix


def test_only_files_of_results_are_taken_and_no_link_is_followed(tmp_path: Path) -> None:
    results = make_results(tmp_path / "quick" / "node1")
    secret = tmp_path / "secret.jsonl"
    secret.write_text("private")
    (results / "records" / "more.jsonl").symlink_to(secret)
    (results / "figures").symlink_to(tmp_path)
    (results / "verdict.md").symlink_to(secret)
    (results / "notes.txt").write_text("private")
    (results / "apps" / "-rf.yaml").write_text("private")
    os.mkfifo(results / "race.json")
    publication = (
        *("--author", "Ada;0000-0002-1825-0097", "--licence", "CC-BY-4.0"),
        *("--day", "2026-01-31"),
    )
    done = pinstudy(tmp_path, "artifact", "quick", "-o", "made", "--json", *publication, status=0)
    assert json.loads(done.stdout)["left_out"] == [
        "apps/-rf.yaml", "figures", "notes.txt", "race.json", "records/more.jsonl",
    ]  # fmt: skip
    assert not any(b"private" in data for data in contents(tmp_path / "made").values())
    assert secret.read_text() == "private"
    metadata = (tmp_path / "made" / "ro-crate-metadata.json").read_text()
    assert "https://orcid.org/0000-0002-1825-0097" in metadata
    assert "https://spdx.org/licenses/CC-BY-4.0" in metadata
    assert '"datePublished": "2026-01-31"' in metadata
    assert "TO FILL IN" not in metadata


def test_what_other_options_made_is_refused_until_they_are_given(tmp_path: Path) -> None:
    results = make_results(tmp_path / "quick" / "node1")
    pinstudy(tmp_path, "verdict", str(results), "--margin", "4%", status=0)
    made = ("artifact", str(results), "-o", "made")
    done = pinstudy(tmp_path, *made, status=2)
    assert "verdict.md:" in done.stderr
    assert f"make it again: `pinstudy verdict {results}`" in done.stderr
    assert names_in(tmp_path) == ["quick"]
    pinstudy(tmp_path, *made, "--margin", "4%", status=0)
    assert 'make verdict "$1" --margin 4%\n' in (tmp_path / "made" / "reproduce.sh").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--author", ";0000-0002-1825-0097"), "expected NAME or NAME;ORCID"),
        (("--author", "Ada;0000-0002-1825-0098"), "no ORCID iD; expected one such as"),
        (("--licence", "CC BY"), "expected an identifier of SPDX, such as CC-BY-4.0"),
        (("-o", "full"), "is there already; name a new folder with --output"),
        (("-o", "quick/node1/new"), "is in the results"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    make_results(tmp_path / "quick" / "node1")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    done = pinstudy(tmp_path, "artifact", "quick", "-o", "made", *arguments, status=2)
    assert message in done.stderr
    assert names_in(tmp_path) == ["full", "quick"]


def test_imported_means_have_no_day_and_no_action_but_their_tables(tmp_path: Path) -> None:
    (tmp_path / "means").mkdir()
    (tmp_path / "means" / "summaries.csv").write_text(
        "app,threads,mapping,status,n,elapsed_mean_s\nlu,1,unpinned,measured,5,4.5\n"
    )
    done = pinstudy(tmp_path, "artifact", "means", "-o", "made", status=2)
    assert "name that of the publication: --day" in done.stderr
    assert names_in(tmp_path) == ["means"]
    pinstudy(tmp_path, "artifact", "means", "-o", "made", "--day", "2026-01-31", status=0)
    kinds = [entity["@type"] for entity in entities(tmp_path).values()]
    assert kinds.count("CreateAction") == 1
    assert "Imported means, and what follows" in (tmp_path / "made" / "README.md").read_text()


def test_a_publication_has_no_records_to_make_it_of(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "artifact", "published:galante-2025", "-o", "made", status=2)
    assert "has no records; expected a folder such as results/quick/mynode" in done.stderr
