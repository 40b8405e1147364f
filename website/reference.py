"""Writes pages from declarations: tables in docs, docs/command-line.md.

A page has its table between two lines, the first of which names the dataclass, the record's fields,
the measures, or the columns of runs::

    <!-- keys of pinstudy.configs.study.Study -->
    <!-- end of keys -->
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill
from typing import get_type_hints

import click
from msgspec import NODEFAULT, Struct

from pinstudy.analysis.measures import MEASURES, Measure, csv_column
from pinstudy.analysis.records.flat import RECORD_FIELDS
from pinstudy.analysis.tables import tidy_runs
from pinstudy.base.decoding import plain_type
from pinstudy.base.files import write_atomically
from pinstudy.cli.main import group as pinstudy
from pinstudy.configs.decoding import Key, bare, keys_of
from pinstudy.runners.records.record import ENGINES, Placement, Record, names_by_group
from share.schemas import Meaning, meanings

_HEAD = """# The command line

All commands and options in a line each; `pinstudy COMMAND --help` says more.

Exit status: 0; 1 for a failed study or a failed check; 2 for a mistake in the command or a file;
3 where a case meets `verdict --fail-if` ([CI](ci.md)); 130 after Ctrl-C. `make schema` writes this
page.
"""
_SHARED = """
## Options of several commands

Each command names those that it has behind "also".

"""
_ALSO = "    also "
_INDENT = " " * len(_ALSO)
# A path with a placeholder would be read as HTML.
_PLACEHOLDER = re.compile(r"[\w/]*<[\w/<>]+[\w/>]")


def command_line() -> str:
    """Return the page: options that several commands share, then each command with its own."""
    commands = list(_commands(pinstudy, "pinstudy"))
    times = Counter(option for _, command in commands for option in _options(command))
    # Of several options of a name, the one that most commands have is shared.
    most = {_name(option): option for option, _ in reversed(times.most_common())}
    shared = {option for option in most.values() if times[option] > 1}
    of_all = {option for option in shared if times[option] == len(commands)}
    names = ", ".join(f"`{_name(option)}`" for option in sorted(of_all))
    text = (
        f"{_HEAD}\nEvery command has `-h`, `--help` and {names}.\n{_SHARED}{_table(sorted(shared))}"
    )
    for name, command in commands:
        context = click.Context(command, info_name=name)
        options = _options(command)
        usage = " ".join((name, *command.collect_usage_pieces(context)))
        if others := [_name(option) for option in options if option in shared - of_all]:
            usage += "\n" + fill(
                " ".join(others),
                100,
                initial_indent=_ALSO,
                subsequent_indent=_INDENT,
                break_on_hyphens=False,
            )
        purpose, _, _ = inspect.cleandoc(command.help or "").partition("\n\n")
        text += f"\n## {name}\n\n```\n{usage}\n```\n\n{_marked(purpose)}\n"
        if own := [option for option in options if option not in shared]:
            text += "\n" + _table(own)
    return text


def _commands(parent: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a group that are no groups, each with its full name."""
    context = click.Context(parent)
    for name in parent.list_commands(context):
        command = parent.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        elif command:
            yield f"{path} {name}", command


def _options(command: click.Command) -> list[tuple[str, str]]:
    """Return the options with their help, without those that all commands have."""
    context = click.Context(command)
    records = (
        parameter.get_help_record(context)
        for parameter in command.params
        if isinstance(parameter, click.Option)
    )
    return [record for record in records if record]


def _name(option: tuple[str, str]) -> str:
    return option[0].split()[0].rstrip(",")


def _table(options: list[tuple[str, str]]) -> str:
    lines = ["| option | meaning |", "|---|---|"]
    for syntax, meaning in options:
        syntax_cell, described = (part.replace("|", "\\|") for part in (syntax, _marked(meaning)))
        lines.append(f"| `{syntax_cell}` | {described} |")
    return "".join(f"{line}\n" for line in lines)


def _marked(text: str) -> str:
    return _PLACEHOLDER.sub(r"`\g<0>`", text.strip().replace("  [", " ["))


ROOT = Path(__file__).resolve().parent.parent

_TABLE = re.compile(r"(<!-- keys of ([\w.]+) -->\n).*?(<!-- end of keys -->\n)", re.DOTALL)
_MEASURES = "pinstudy.analysis.measures.MEASURES"
_RUNS = "pinstudy.analysis.tables.tidy_runs.COLUMNS"
_FIELDS = "pinstudy.runners.records.record.Record"
# Groups of fields that another page has, named as `Record.GROUP` there: what that page is of.
_ELSEWHERE = {"co_runner": ("co-runner", "[of a co-runner](co-runners.md#fields-of-a-record)")}


def key_table(declared: type) -> str:
    """Return the keys of a table as Markdown; the name, which is that of the file, is left out."""
    lines = ["| key | meaning | default |", "|---|---|---|"]
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
        return "required"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    if isinstance(key.default, (str, tuple)) and key.default:
        words = (key.default,) if isinstance(key.default, str) else key.default
        return ", ".join(f"`{word}`" for word in words)
    return str(key.default) if isinstance(key.default, int) else "none"


def struct_table(declared: type) -> str:
    """Return the keys of a Struct as Markdown."""
    lines = ["| key | meaning |", "|---|---|"]
    lines += [f"| {_names(names)} | {meaning} |" for names, meaning in _rows(declared)]
    return "".join(f"{line}\n" for line in lines)


def field_table() -> str:
    """Return the fields of a record as Markdown, each group named beside its first row."""
    lines = ["| group | field | meaning |", "|---|---|---|"]
    elsewhere = dict(_ELSEWHERE.values())
    for group, names in names_by_group().items():
        if group in elsewhere:
            lines.append(f"| {group} | {_names(names)} | {elsewhere[group]} |")
            continue
        for number, (shared, meaning) in enumerate(_rows(Record, names)):
            head = group if number == 0 else ""
            lines.append(f"| {head} | {_names(shared)} | {meaning} |")
    return "".join(f"{line}\n".replace("|  |", "| |") for line in lines)


def _table_of_group(group: str) -> str:
    """Return the fields of one group of a record as Markdown."""
    lines = ["| field | meaning |", "|---|---|"]
    rows = _rows(Record, names_by_group()[group])
    lines += [f"| {_names(names)} | {meaning} |" for names, meaning in rows]
    return "".join(f"{line}\n" for line in lines)


def _rows(declared: type, names: Iterable[str] | None = None) -> list[tuple[list[str], str]]:
    """Return each meaning with the fields that share it: those after its own without one.

    A table of fields, as `placement` is, has a row for each of these.
    """
    hints, texts = get_type_hints(declared, include_extras=True), meanings(declared)
    rows: list[tuple[list[str], str]] = []
    for name in hints if names is None else names:
        kind, _ = plain_type(hints[name])
        meaning = texts.get(name, Meaning()).text
        if kind in (Placement, *ENGINES.values()) and not meaning:
            rows += [
                ([f"{name}.{field}" for field in fields], text) for fields, text in _rows(kind)
            ]
        elif meaning:
            rows.append(([name], meaning))
        else:
            rows[-1][0].append(name)
    return rows


def measure_table() -> str:
    """Return what tables average as Markdown, each with the column of its mean in files."""
    lines = ["| name | field of the record | column of tables | in files |", "|---|---|---|---|"]
    lines += [
        f"| `{measure.name}` | `{RECORD_FIELDS.get(measure.field, measure.field)}` "
        f"| {_heading(measure)} | `{_mean_in_files(measure)}` |"
        for measure in MEASURES
        if measure.statistics
    ]
    return "".join(f"{line}\n" for line in lines)


def run_table() -> str:
    """Return the columns of `pinstudy runs` as Markdown."""
    lines = ["| column | meaning |", "|---|---|"]
    lines += [
        f"| {_names(group.names)} | {group.meaning} |"
        for group in (*tidy_runs.COLUMNS, *tidy_runs.MORE_COLUMNS)
    ]
    return "".join(f"{line}\n" for line in lines)


def _heading(measure: Measure) -> str:
    unit = f" ({measure.unit})" if measure.unit and measure.heading else ""
    return (
        f"{measure.heading.format('P')}{unit}{', …' if measure.heading and measure.by_kind else ''}"
    )


def _mean_in_files(measure: Measure) -> str:
    return csv_column(measure.column("P" if measure.by_kind else ""), measure.statistics[0])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def generated_pages() -> dict[Path, str]:
    """Return the generated pages with their contents."""
    files = {ROOT / "docs" / "command-line.md": command_line()}
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if _TABLE.search(text):
            files[page] = _TABLE.sub(_renewed, text)
    return files


def _renewed(match: re.Match[str]) -> str:
    if match[2] == _MEASURES:
        return match[1] + measure_table() + match[3]
    if match[2] == _RUNS:
        return match[1] + run_table() + match[3]
    if match[2] == _FIELDS:
        return match[1] + field_table() + match[3]
    if match[2].startswith(f"{_FIELDS}."):
        group, _ = _ELSEWHERE[match[2].removeprefix(f"{_FIELDS}.")]
        return match[1] + _table_of_group(group) + match[3]
    module, _, name = match[2].rpartition(".")
    declared = getattr(importlib.import_module(module), name)
    table = struct_table if issubclass(declared, Struct) else key_table
    return match[1] + table(declared) + match[3]


if __name__ == "__main__":
    for path, text in generated_pages().items():
        write_atomically(path, text.encode())
