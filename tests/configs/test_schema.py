"""The JSON schema and the tables of keys in docs follow from the declarations in configs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
import yaml

from pinstudy.configs.library import CONFIGS
from share.schemas import SCHEMA, study_schema, write_schema
from tests.configs.shelves import STUDY, mistakes, study_with
from tests.support.tools import ROOT
from website.reference import generated_pages

STUDIES = sorted((CONFIGS / "studies").glob("*.yaml"))
Accepts = Callable[[Any], Any]


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - JSON
    """Give the schema, written as the set-up does, to another place."""
    file = tmp_path_factory.mktemp("schema") / "schema.json"
    write_schema(study_schema(), file)
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def accepts(schema: Any) -> Accepts:  # noqa: ANN401 - JSON
    """Give the check of a study's plain value as editors make it."""
    check: Accepts = fastjsonschema.compile(schema)
    return check


def test_what_was_written_is_current() -> None:
    pages = generated_pages()
    written = {path: path.read_text(encoding="utf-8") for path in pages}

    assert {path.name for path in pages if written[path] != pages[path]} == set(), (
        "renew them by `make schema`"
    )


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_studies_name_the_schema_and_keep_to_it(path: Path, accepts: Accepts) -> None:
    text = path.read_text(encoding="utf-8")
    first = text.splitlines()[0]

    named = path.parent / first.removeprefix("# yaml-language-server: $schema=")
    assert named.resolve() == SCHEMA
    accepts(yaml.safe_load(text))


def test_so_do_the_examples_of_the_docs(accepts: Accepts) -> None:
    pages = (ROOT / "docs" / f"{name}.md" for name in ("studies", "repetitions", "select"))
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    examples += [
        f"{STUDY.replace('repetitions: 10', '')}{line}\n"
        for line in re.findall(r"`(repetitions: \{.*?\}\}?)`", page)
    ]

    assert len(examples) > 1
    for example in examples:
        accepts(yaml.safe_load(example))


@pytest.mark.parametrize(
    "line", ["settings: {energy_aware: [on, off]}", "settings: {turbo: [off, current]}"]
)
def test_an_editor_takes_switches_that_yaml_reads_as_truth_values(
    line: str, accepts: Accepts
) -> None:
    text = study_with(line)

    assert mistakes(text) == []
    accepts(yaml.safe_load(text))


@pytest.mark.parametrize(
    "line",
    [
        "title",
        "titel: A study",
        "app: {title: LU}",
        "threads: [0]",
        "threads: [1, 1]",
        "threads: []",
        "wait_policy: passiv",
        "repetitions: many",
        "repetitions: {decide: {first: 2, max: 5}}",
        "repetitions: {race: {}}",
        "idle_power: 10",
        "temperature_gate: {within: 5, limit: 1 min}",
        "vm: {cpus: 1, memory: 1 TB}",
        "mappings: [{name: mine, selection: pcores}]",
        "mappings: [{name: a b, selection: pcores, binding: pin}]",
    ],
)
def test_an_editor_marks_what_pinstudy_refuses(line: str, accepts: Accepts) -> None:
    text = study_with(line)

    assert mistakes(text)
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        accepts(yaml.safe_load(text))


def test_it_says_what_each_key_means(schema: Any) -> None:  # noqa: ANN401 - JSON
    def keys(part: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any part of a schema
        if isinstance(part, list):
            return [key for item in part for key in keys(item)]
        if not isinstance(part, dict):
            return []
        own = list(part["properties"].values()) if "properties" in part else []
        return own + [key for inner in part.values() for key in keys(inner)]

    declared = keys(schema)

    assert len(declared) > 80
    assert [key for key in declared if not key.get("description")] == []
