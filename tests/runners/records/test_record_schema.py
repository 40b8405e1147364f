"""The JSON schema of records accepts what is written, and refuses what no record can have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import fastjsonschema
import pytest

from runners.records.line import line_of
from tests.support.results import record
from tools.record_schema import write_schema

Accepts = Callable[[Any], Any]


@pytest.fixture(scope="module")
def accepts(tmp_path_factory: pytest.TempPathFactory) -> Accepts:
    """Give the check of a record by the schema, written as `make schema` does."""
    path = tmp_path_factory.mktemp("schema") / "record.schema.json"
    write_schema(path)
    check: Accepts = fastjsonschema.compile(json.loads(path.read_text(encoding="utf-8")))
    return check


def test_a_line_that_pinstudy_writes_is_valid(accepts: Accepts) -> None:
    threads = [{"process": 0, "allowed": "0-3", "seen": {"1": 3}, "cpu_s": 1.0}]
    run = record(1, 1, placement={"verdict": "proved", "threads": threads}, signal=None)
    accepts(json.loads(line_of(run)))


@pytest.mark.parametrize(
    "fields",
    [
        {"elapsed_s": 0},
        {"threads": "4"},
        {"energy_pkg_j": -1.0},
        {"freq_ghz": {"P": -1.0}},
        {"placement": {"threads": [{"cpu_s": "1"}]}},
    ],
)
def test_an_impossible_value_is_refused(fields: dict[str, Any], accepts: Accepts) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        accepts(json.loads(line_of(record(1, 1))) | fields)
