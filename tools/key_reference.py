"""Writes what follows from the tables of configs: configs/schema.json, and tables in docs.

A page has its table between two lines, the first of which names the dataclass::

    <!-- keys of configs.study.Study -->
    <!-- end of keys -->
"""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from base.files import write_atomically
from base.structure import Key, Table, flat, keys_of
from configs.study import Study

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "configs" / "schema.json"

_TABLE = re.compile(r"(<!-- keys of ([\w.]+) -->\n).*?(<!-- end of keys -->\n)", re.DOTALL)
_LINK = re.compile(r"\s*\(\[[^]]*\]\([^)]*\)\)|\[([^]]*)\]\([^)]*\)")


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study's file."""
    tables: dict[str, Any] = {}
    _shared(Table(Study, "a study").schema(), tables)
    study: dict[str, Any] = tables.pop("Study")
    # A study is named as its file.
    study["required"].remove("name")
    head = {"$schema": "http://json-schema.org/draft-07/schema#"}
    return head | study | {"definitions": dict(sorted(tables.items()))}


def _shared(value: Any, tables: dict[str, Any]) -> Any:  # noqa: ANN401 - any part of a schema
    """Return a schema that refers to each table by its title; `tables` are given them.

    Descriptions lose their links, which editors would show as they are written.
    """
    if isinstance(value, list):
        return [_shared(item, tables) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _shared(inner, tables) for key, inner in value.items()}
    described = {}
    if isinstance(found.get("description"), str):
        described = {"description": _LINK.sub(r"\1", found.pop("description"))}
    if not isinstance(found.get("title"), str):
        return found | described
    tables[found["title"]] = found
    # What stands beside a $ref is not looked at (draft 7, section 8.3).
    return {"allOf": [{"$ref": f"#/definitions/{found['title']}"}]} | described


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
    """Return what holds where a key is left out."""
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


def written() -> dict[Path, str]:
    """Return the files that follow from the declarations, with what they are to hold."""
    found = {SCHEMA: json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n"}
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if _TABLE.search(text):
            found[page] = _TABLE.sub(_renewed, text)
    return found


def _renewed(match: re.Match[str]) -> str:
    module, _, name = match[2].rpartition(".")
    return match[1] + key_table(getattr(importlib.import_module(module), name)) + match[3]


if __name__ == "__main__":
    for path, text in written().items():
        write_atomically(path, text.encode())
