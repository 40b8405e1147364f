"""The JSON schemas of a study, for editors, and of a record, for programs that read records.

`python -m share.schemas` writes that of studies where the first line of each shipped study looks
for it, as the set-up does; with `all` that of records beside it. Neither is part of the sources.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from functools import cache
from inspect import getsource
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import NODEFAULT, Struct, inspect
from msgspec.json import schema as schema_of

from pinstudy.base.files import write_atomically
from pinstudy.configs.decoding import MAX_ITEMS, NAME, bare, expected, keys_of
from pinstudy.configs.library import CONFIGS
from pinstudy.configs.study import Study
from pinstudy.runners.records.record import ENGINES, Placement, Record

SCHEMA = CONFIGS / "schema.json"
RECORD_SCHEMA = CONFIGS / "record.schema.json"
_LINK = re.compile(r"\s*\(\[[^]]*\]\([^)]*\)\)|\[([^]]*)\]\([^)]*\)")


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of a study's file."""
    tables: dict[str, Any] = {}
    _shared(_table(Study), tables)
    study: dict[str, Any] = tables.pop("Study")
    # A study is named as its file.
    study["required"].remove("name")
    head = {"$schema": "http://json-schema.org/draft-07/schema#"}
    return head | study | {"definitions": dict(sorted(tables.items()))}


def _schema(kind: inspect.Type, named: bool = False) -> dict[str, Any]:
    """Return the schema of what is written; a `named` table has no key `name`."""
    kind, notes = bare(kind)
    if "schema" in notes:
        return dict(notes["schema"])
    if "written" in notes:
        forms = [_schema(form) for form in notes["written"].types]
        return forms[0] if len(forms) == 1 else {"anyOf": forms}
    if isinstance(kind, inspect.DataclassType):
        return _table(kind.cls, named)
    if isinstance(kind, inspect.VarTupleType):
        item = _schema(kind.item_type)
        items = {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}
        return {"anyOf": [item, items | {"maxItems": MAX_ITEMS}]}
    if isinstance(kind, inspect.DictType):
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^(?:{NAME.pattern})$"},
            "additionalProperties": _schema(kind.value_type, named=True),
            "minProperties": 1,
        }
    if isinstance(kind, inspect.IntType):
        return {"type": "integer", "minimum": kind.ge, "maximum": kind.le}
    if isinstance(kind, inspect.BoolType):
        # YAML 1.2 reads the other words of YAML 1.1 as texts.
        return {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "on", "no", "off"]}]}
    assert isinstance(kind, inspect.StrType)
    # A number without quotes is a text as well.
    number = kind.pattern is None or re.match(kind.pattern, "1")
    schema: dict[str, Any] = {"type": ["string", "number"] if number else "string"}
    schema |= {"minLength": kind.min_length, "maxLength": kind.max_length}
    return schema | ({"pattern": kind.pattern} if kind.pattern else {})


class Meaning(NamedTuple):
    """What a key means, and what holds without it where its default does not show that."""

    text: str = ""
    without: str = ""


def meanings(table: type) -> dict[str, Meaning]:
    """Return what the keys of a table mean, by field: the texts below the fields in its source.

    The fields of the tables that it goes on from come first.
    """
    texts: dict[str, Meaning] = {}
    for base in reversed(table.__mro__):
        if base.__module__ == table.__module__:
            texts |= _own_meanings(base)
    return texts


@cache
def _own_meanings(table: type) -> dict[str, Meaning]:
    [declared] = ast.parse(getsource(table)).body
    assert isinstance(declared, ast.ClassDef)
    texts = {}
    for field, below in pairwise(declared.body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            words = " ".join(ast.literal_eval(below.value).split())
            text, _, without = words.partition("Without it: ")
            texts[ast.unparse(field.target)] = Meaning(text.rstrip(". "), without)
    return texts


def _table(table: type, named: bool = False) -> dict[str, Any]:
    texts = meanings(table)
    keys = [key for key in keys_of(table) if not (named and key.field == "name")]
    properties = {}
    for key in keys:
        text = texts.get(key.field, Meaning()).text or expected(key.type)
        properties[key.name] = _schema(key.type) | {"description": text}
    return {
        "title": table.__name__,
        "type": "object",
        "properties": properties,
        "required": [key.name for key in keys if key.default is NODEFAULT],
        "additionalProperties": False,
    }


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


def record_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a line of a shard."""
    schema = schema_of(Record)
    tables: tuple[type[Struct], ...] = (Record, Placement, *ENGINES.values())
    for table in tables:
        properties = schema["$defs"][table.__name__]["properties"]
        for name, meaning in meanings(table).items():
            properties[name]["description"] = meaning.text
    return schema


def write_schema(schema: dict[str, Any], path: Path) -> None:
    """Write a schema to a file."""
    text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
    write_atomically(path, text.encode())


if __name__ == "__main__":
    write_schema(study_schema(), SCHEMA)
    if sys.argv[1:] == ["all"]:
        write_schema(record_schema(), RECORD_SCHEMA)
