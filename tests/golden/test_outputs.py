"""What users read of eleven canonical results, whole: the way to see what a change does to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.golden.canonical import RESULTS
from tests.support.cli import pinstudy
from tests.support.golden import GoldenFile

TABLES = "tables --no-files"
LATEX, CSV = (f"{TABLES} --format {name}" for name in ("latex", "csv"))
# Begins what explains a verdict: in all results it is the same but for a few numbers.
HOW_TO_READ = "How to read this"
# The outputs beside the verdict that show something which those of the other results do not.
OUTPUTS = {
    "hybrid": (TABLES, CSV),
    "alike": (TABLES,),
    "disturbed": (TABLES,),
    "lost": (TABLES,),
    "ranks": (TABLES, CSV),
    "co_runner": (TABLES, LATEX, CSV),
    "guests": (TABLES, CSV),
    "mixed": (f"{TABLES} --all", f"{LATEX} --columns time,reached,equal_shares", CSV),
}
MARKDOWN = ("energy", "lost")
# Of a sentence.
MAX_WORDS = 25


@pytest.fixture(scope="module", params=RESULTS, ids=lambda make: make.__name__)
def results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, str]:
    """Make one of the results and its verdict.md; return name, folder, and what was printed."""
    make: Callable[[Path], None] = request.param
    folder = tmp_path_factory.mktemp("golden") / make.__name__
    folder.mkdir()
    make(folder)
    done = pinstudy(folder.parent, "verdict", make.__name__, status=0)
    return make.__name__, folder, done.stdout


def test_outputs_are_as_they_were_read(
    results: tuple[str, Path, str], snapshot: SnapshotAssertion
) -> None:
    name, folder, verdict = results
    if name != "hybrid":
        verdict = verdict.partition(HOW_TO_READ)[0]
    shown = f"$ pinstudy verdict\n{verdict}\n"
    for line in OUTPUTS.get(name, ()):
        command, *options = line.split()
        done = pinstudy(folder.parent, command, name, *options, status=0)
        shown += f"$ pinstudy {line}\n{done.stdout}\n"
    if name in MARKDOWN:
        page = (folder / "verdict.md").read_text()
        shown += f"$ cat verdict.md\n{page.partition(HOW_TO_READ)[0]}\n"
    assert shown == snapshot(extension_class=GoldenFile)


def test_no_sentence_is_long(results: tuple[str, Path, str]) -> None:
    _, folder, _ = results
    prose = [
        line
        for line in (folder / "verdict.md").read_text().splitlines()
        if line and line[0] not in "|#" and not line.startswith("    ")
    ]
    sentences = [part for line in prose for part in re.split(r"[.;:] ", line)]
    assert not [sentence for sentence in sentences if len(sentence.split()) > MAX_WORDS]


def test_json_has_no_sentence(results: tuple[str, Path, str]) -> None:
    name, folder, _ = results
    done = pinstudy(folder.parent, "verdict", name, "--no-files", "--json", status=0)
    assert not [text for text in texts(json.loads(done.stdout)) if text.count(" ") > MAX_WORDS]


def texts(value: object) -> list[str]:
    """Return all texts of a value of JSON but commands."""
    if isinstance(value, dict):
        return [text for key, item in value.items() if key != "command" for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []
