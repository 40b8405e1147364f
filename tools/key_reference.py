"""Writes pages from declarations: tables in docs, docs/command-line.md.

A page has its table between two lines, the first of which names the dataclass, or the record's
fields::

    <!-- keys of configs.study.Study -->
    <!-- end of keys -->
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import NODEFAULT

from base.files import write_atomically
from configs.decoding import Key, bare, keys_of
from runners.records.fields import FIELDS
from tools import command_reference
from tools.study_schema import Meaning, meanings

ROOT = Path(__file__).resolve().parent.parent

_TABLE = re.compile(r"(<!-- keys of ([\w.]+) -->\n).*?(<!-- end of keys -->\n)", re.DOTALL)
_FIELDS = "runners.records.fields.FIELDS"
# Groups of fields that another page has, named as `FIELDS.GROUP` there: what that page is of.
_ELSEWHERE = {"beside": ("co-runner", "[of a co-runner](beside.md#fields-of-a-record)")}


def key_table(declared: type) -> str:
    """Return the keys of a table as Markdown; the name, which is that of the file, is left out."""
    lines = ["| key | meaning | without it |", "|---|---|---|"]
    texts = meanings(declared)
    for key in keys_of(declared):
        text = texts.get(key.field, Meaning())
        if key.inline:
            lines += key_table(bare(key.type)[0].cls).splitlines()[2:]
        elif key.field != "name":
            lines.append(f"| `{key.name}` | {text.text} | {text.without or _without(key)} |")
    return "".join(f"{line}\n" for line in lines)


def _without(key: Key) -> str:
    """Return the meaning of a missing key."""
    if key.default is NODEFAULT:
        return "must be there"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    if isinstance(key.default, (str, tuple)) and key.default:
        words = (key.default,) if isinstance(key.default, str) else key.default
        return ", ".join(f"`{word}`" for word in words)
    return str(key.default) if isinstance(key.default, int) else "none"


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


def generated_pages() -> dict[Path, str]:
    """Return the generated pages with their contents."""
    files = {ROOT / "docs" / "command-line.md": command_reference.page()}
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
    return match[1] + key_table(getattr(importlib.import_module(module), name)) + match[3]


if __name__ == "__main__":
    for path, text in generated_pages().items():
        write_atomically(path, text.encode())
