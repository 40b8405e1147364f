"""Writes files from declarations: configs/schema.json, tables in docs, docs/command-line.md.

A page has its table between two lines, the first of which names the dataclass, or the record's
fields::

    <!-- keys of configs.study.Study -->
    <!-- end of keys -->
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from base.decoding import plain_type
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
    flat,
    keys_of,
)
from base.units import SECONDS_OF_UNIT
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
from runners.records.fields import FIELDS
from tools import command_reference

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "configs" / "schema.json"

_TABLE = re.compile(r"(<!-- keys of ([\w.]+) -->\n).*?(<!-- end of keys -->\n)", re.DOTALL)
_FIELDS = "runners.records.fields.FIELDS"
# Groups of fields that another page has, named as `FIELDS.GROUP` there: what that page is of.
_ELSEWHERE = {"beside": ("co-runner", "[of a co-runner](beside.md#fields-of-a-record)")}
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
    if isinstance(kind, Word):
        return {"enum": list(kind.known)}
    if isinstance(kind, Count):
        return {"type": "integer", "minimum": kind.least, "maximum": kind.most}
    if isinstance(kind, Text):
        bounds = {"minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
        # A number without quotes is a text as well.
        if kind.form is None:
            return {"type": ["string", "number"]} | bounds
        number = {"type": ["string", "number"]} if kind.form.fullmatch("1") else {"type": "string"}
        return number | bounds | {"pattern": f"^(?:{kind.form.pattern})$"}
    return _VALUES[type(kind)]


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


def key_table(declared: type) -> str:
    """Return the keys of a table as Markdown; the name, which is that of the file, is left out."""
    lines = ["| key | meaning | without it |", "|---|---|---|"]
    lines += [
        f"| `{key.name}` | {key.meaning} | {_without(key)} |"
        for key in flat(keys_of(declared))
        if key.field != "name"
    ]
    return "".join(f"{line}\n" for line in lines)


def _without(key: Key) -> str:
    """Return the meaning of a missing key."""
    if key.without:
        return key.without
    if key.default is MISSING:
        return "must be there"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    if isinstance(key.default, (str, tuple)) and key.default:
        words = (key.default,) if isinstance(key.default, str) else key.default
        return ", ".join(f"`{word}`" for word in words)
    return str(key.default) if isinstance(key.default, int) else "none"


def struct_table(declared: type) -> str:
    """Return the keys of a Struct as Markdown; one without a meaning shares that before it."""
    rows: list[tuple[list[str], str]] = []
    for name, kind in get_type_hints(declared, include_extras=True).items():
        _, bounds = plain_type(kind)
        meaning = next((of.description for of in reversed(bounds) if of.description), "")
        if meaning:
            rows.append(([name], meaning))
        else:
            rows[-1][0].append(name)
    lines = ["| key | meaning |", "|---|---|"]
    lines += [f"| {_names(names)} | {meaning} |" for names, meaning in rows]
    return "".join(f"{line}\n" for line in lines)


def field_table() -> str:
    """Return the fields of a record as Markdown, each group named beside its first row."""
    lines = ["| group | field | meaning |", "|---|---|---|"]
    elsewhere = dict(_ELSEWHERE.values())
    for group, fields in FIELDS.items():
        if group in elsewhere:
            names = _names(name for field in fields for name in field.names)
            lines.append(f"| {group} | {names} | {elsewhere[group]} |")
            continue
        for number, field in enumerate(fields):
            head = group if number == 0 else ""
            lines.append(f"| {head} | {_names(field.names)} | {field.meaning} |")
    return "".join(f"{line}\n".replace("|  |", "| |") for line in lines)


def _table_of_group(group: str) -> str:
    """Return the fields of one group of a record as Markdown."""
    lines = ["| field | meaning |", "|---|---|"]
    lines += [f"| {_names(field.names)} | {field.meaning} |" for field in FIELDS[group]]
    return "".join(f"{line}\n" for line in lines)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def generated_files() -> dict[Path, str]:
    """Return the generated files with their contents."""
    files = {SCHEMA: json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n"}
    files[ROOT / "docs" / "command-line.md"] = command_reference.page()
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if _TABLE.search(text):
            files[page] = _TABLE.sub(_renewed, text)
    return files


def _renewed(match: re.Match[str]) -> str:
    if match[2] == _FIELDS:
        return match[1] + field_table() + match[3]
    if match[2].startswith(f"{_FIELDS}."):
        group, _ = _ELSEWHERE[match[2].removeprefix(f"{_FIELDS}.")]
        return match[1] + _table_of_group(group) + match[3]
    module, _, name = match[2].rpartition(".")
    declared = getattr(importlib.import_module(module), name)
    table = struct_table if issubclass(declared, msgspec.Struct) else key_table
    return match[1] + table(declared) + match[3]


if __name__ == "__main__":
    for path, text in generated_files().items():
        write_atomically(path, text.encode())
