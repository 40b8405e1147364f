"""The JSON schema of a study's file, by which editors complete and explain its keys.

`python -m tools.study_schema [FILE]` writes it, by default where the first line of each shipped
study looks for it. The set-up does so; it is no part of the sources.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from base.files import write_atomically
from base.structure import (
    MAX_ITEMS,
    NAME,
    As,
    ByName,
    Either,
    Key,
    Kind,
    OneOrMore,
    Table,
    keys_of,
)
from base.units import SECONDS_OF_UNIT
from configs.library import CONFIGS
from configs.repetitions import RepetitionsKind
from configs.scheduling import CURRENT, Switch
from configs.study import Study
from configs.values import (
    MAX_TEXT_CHARACTERS,
    NUMBER,
    Arguments,
    Count,
    Duration,
    Flag,
    Percentage,
    Range,
    Text,
    Word,
)
from configs.variables import NAME as VARIABLE_NAME
from configs.variables import ThreadsBy, Variables

SCHEMA = CONFIGS / "schema.json"
_LINK = re.compile(r"\s*\(\[[^]]*\]\([^)]*\)\)|\[([^]]*)\]\([^)]*\)")


def _text_of(form: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{form}$"}


# An argument that looks like a number or a truth value is a text as well.
_ARGUMENT = {"type": ["string", "number", "boolean"]}
_VALUES: dict[type[Kind], dict[str, Any]] = {
    # YAML 1.2 reads the other words of YAML 1.1 as texts.
    Flag: {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "on", "no", "off"]}]},
    Switch: {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "on", "no", "off", CURRENT]}]},
    Range: {"anyOf": [{"type": "number"}, _text_of(rf"{NUMBER}( +to +{NUMBER})?")]},
    Duration: _text_of(rf"\d+(\.\d+)?\s*({'|'.join(SECONDS_OF_UNIT)})"),
    Percentage: _text_of(r"\d+(\.\d+)?\s*%"),
    Variables: {
        "type": "object",
        "propertyNames": {"pattern": f"^(?:{VARIABLE_NAME.pattern})$"},
        "additionalProperties": _ARGUMENT,
        "minProperties": 1,
    },
    ThreadsBy: _text_of(VARIABLE_NAME.pattern),
    Arguments: {"anyOf": [_ARGUMENT, {"type": "array", "items": _ARGUMENT, "maxItems": MAX_ITEMS}]},
}


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of a study's file."""
    tables: dict[str, Any] = {}
    _shared(_schema(Table(Study, "a study")), tables)
    study: dict[str, Any] = tables.pop("Study")
    # A study is named as its file.
    study["required"].remove("name")
    head = {"$schema": "http://json-schema.org/draft-07/schema#"}
    return head | study | {"definitions": dict(sorted(tables.items()))}


def _schema(kind: Kind) -> dict[str, Any]:
    """Return the schema of the values that a kind decodes."""
    if isinstance(kind, Table):
        return _schema_of_table(kind, keys_of(kind.declared))
    if isinstance(kind, As):
        return _schema(kind.inner)
    if isinstance(kind, RepetitionsKind):
        return {
            "anyOf": [
                _schema(form) for form in (kind.short, kind.table, kind.deciding, kind.racing)
            ]
        }
    if isinstance(kind, Either):
        return {"anyOf": [_schema(kind.short), _schema(kind.table)]}
    if isinstance(kind, OneOrMore):
        item = _schema(kind.inner)
        items = {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}
        return {"anyOf": [item, items | {"maxItems": MAX_ITEMS}]}
    if isinstance(kind, ByName):
        return _schema_by_name(kind)
    return _schema_of_value(kind)


def _schema_of_table(table: Table, keys: Sequence[Key]) -> dict[str, Any]:
    properties = {}
    for key in keys:
        properties[key.name] = _schema(key.kind) | {"description": key.meaning or key.kind.expected}
    return {
        "title": table.declared.__name__,
        "type": "object",
        "properties": properties,
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _schema_by_name(kind: ByName) -> dict[str, Any]:
    """Return the schema of a table with any names; an inner table has no key `name` then."""
    if isinstance(kind.inner, Table):
        keys = [key for key in keys_of(kind.inner.declared) if key.field != "name"]
        inner = _schema_of_table(kind.inner, keys)
    else:
        inner = _schema(kind.inner)
    return {
        "type": "object",
        "propertyNames": {"pattern": f"^(?:{NAME.pattern})$"},
        "additionalProperties": inner,
        "minProperties": 1,
    }


def _schema_of_value(kind: Kind) -> dict[str, Any]:
    if type(kind) in _VALUES:
        return _VALUES[type(kind)]
    if isinstance(kind, Word):
        return {"enum": list(kind.known)}
    if isinstance(kind, Count):
        return {"type": "integer", "minimum": kind.least, "maximum": kind.most}
    assert isinstance(kind, Text)
    bounds = {"minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
    # A number without quotes is a text as well.
    if kind.form is None:
        return {"type": ["string", "number"]} | bounds
    number = {"type": ["string", "number"]} if kind.form.fullmatch("1") else {"type": "string"}
    return number | bounds | {"pattern": f"^(?:{kind.form.pattern})$"}


def _shared(value: Any, tables: dict[str, Any]) -> Any:  # noqa: ANN401 - any part of a schema
    """Return a schema that refers to each table by its title; adds the tables to `tables`.

    Descriptions lose their links, which editors would show as they are written.
    """
    if isinstance(value, list):
        return [_shared(item, tables) for item in value]
    if not isinstance(value, dict):
        return value
    schema = {key: _shared(inner, tables) for key, inner in value.items()}
    described = {}
    if isinstance(schema.get("description"), str):
        described = {"description": _LINK.sub(r"\1", schema.pop("description"))}
    if not isinstance(schema.get("title"), str):
        return schema | described
    tables[schema["title"]] = schema
    # Keys beside a $ref are ignored (draft 7, section 8.3).
    return {"allOf": [{"$ref": f"#/definitions/{schema['title']}"}]} | described


def write_schema(path: Path) -> None:
    """Write the schema to a file."""
    text = json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n"
    write_atomically(path, text.encode())


if __name__ == "__main__":
    write_schema(Path(sys.argv[1]) if len(sys.argv) > 1 else SCHEMA)
