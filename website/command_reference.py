"""The page docs/command-line.md, from what the commands declare."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from textwrap import fill

import click

from pinstudy.cli.main import group

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


def page() -> str:
    """Return the page: options that several commands share, then each command with its own."""
    commands = list(_commands(group, "pinstudy"))
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
