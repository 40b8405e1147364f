"""What users read of ten canonical results, whole: the way to see what a change does to them."""

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

OUTPUTS = {
    "verdict": ("verdict", "--no-files"),
    "tables": ("tables", "--no-files"),
    "latex": ("tables", "--no-files", "--format", "latex"),
    "csv": ("tables", "--no-files", "--format", "csv"),
    "markdown": ("verdict",),
}
# Of a sentence.
MAX_WORDS = 25


@pytest.fixture(scope="module", params=RESULTS, ids=lambda make: make.__name__)
def results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """Make one of the results; return its name and its folder."""
    make: Callable[[Path], None] = request.param
    folder = tmp_path_factory.mktemp("golden") / make.__name__
    folder.mkdir()
    make(folder)
    return make.__name__, folder


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_is_as_it_was_read(
    results: tuple[str, Path], output: str, snapshot: SnapshotAssertion
) -> None:
    name, folder = results
    command, *options = OUTPUTS[output]
    done = pinstudy(folder.parent, command, name, *options, status=0)
    text = (folder / "verdict.md").read_text() if output == "markdown" else done.stdout
    assert text == snapshot(extension_class=GoldenFile)


def test_no_sentence_is_long(results: tuple[str, Path]) -> None:
    name, folder = results
    pinstudy(folder.parent, "verdict", name, status=0)
    prose = [
        line
        for line in (folder / "verdict.md").read_text().splitlines()
        if line and line[0] not in "|#" and not line.startswith("    ")
    ]
    sentences = [part for line in prose for part in re.split(r"[.;:] ", line)]
    assert not [sentence for sentence in sentences if len(sentence.split()) > MAX_WORDS]


def test_json_has_no_sentence(results: tuple[str, Path]) -> None:
    name, folder = results
    done = pinstudy(folder.parent, "verdict", name, "--no-files", "--json", status=0)
    assert not [text for text in texts(json.loads(done.stdout)) if text.count(" ") > MAX_WORDS]


def texts(value: object) -> list[str]:
    """Return all texts of a value of JSON but commands."""
    if isinstance(value, dict):
        return [text for key, item in value.items() if key != "command" for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []
