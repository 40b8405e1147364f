"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import word_as_typed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_Command = Callable[..., Any]
_Option = Callable[[_Command], _Command]

# By command: what options were called before, and are called now.
FORMER_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "advise": {"--within": "--time-budget", "--limit": "--timeout"},
    "card": {"--into": "--output"},
    "figures": {"--into": "--output", "--format": "--formats"},
    "latency": {"--into": "--output"},
    "perf": {"--into": "--output", "--variant": "--build"},
    "report": {"--into": "--output"},
    "summaries": {"--into": "--output"},
}

_EMPTY = "is empty, as an unset variable of the shell is; name"


class Folder(click.Path):
    """A folder to write to, as a Path; for the system an empty name is the current folder."""

    def __init__(self, option: str) -> None:
        """`option` is the one that names it, such as --output."""
        super().__init__(path_type=Path, file_okay=False)
        self._option = option

    def convert(self, value: Any, *of: Any) -> Any:  # noqa: ANN401
        """Return the folder; raises UserError for an empty name."""
        if value == "":
            raise UserError(f"{self._option} {_EMPTY} a folder, or . for the current one")
        return super().convert(value, *of)


def _begun(incomplete: str, names: Iterable[str], kind: str) -> list[CompletionItem]:
    """Return the names that begin as typed; a shell adds files of its own (`kind`: file or dir)."""
    from click.shell_completion import CompletionItem

    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    # bash drops what stands before it.
    return [CompletionItem(incomplete, type=kind), *items]


def complete_study(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the studies that come with pinstudy, and files."""
    from pinstudy.configs.library import installed_names

    return _begun(incomplete, installed_names("study"), "file")


def complete_site(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the sites that come with pinstudy, and files."""
    from pinstudy.configs.library import installed_names

    return _begun(incomplete, installed_names("site"), "file")


def complete_mappings(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the mappings that come with pinstudy, for the last name of a list with commas."""
    from pinstudy.configs.library import list_mappings

    before, comma, _ = incomplete.rpartition(",")
    names = [f"{before}{comma}{mapping.name}" for mapping in list_mappings()]
    return [name for name in names if name.startswith(incomplete)]


def complete_results(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the folders below all results that `find_results` finds, and other folders."""
    begun = incomplete.rpartition("/")[0]
    names: list[str] = []
    with suppress(OSError):
        folders = [path for path in (_all_results() / begun).iterdir() if path.is_dir()]
        names = sorted(os.path.join(begun, folder.name) for folder in folders)  # noqa: PTH118
    return _begun(incomplete, names, "dir")


SYSROOT = click.option(
    "--sysroot",
    type=click.Path(path_type=Path),
    default=Path("/"),
    metavar="DIR",
    help="Read the node from a recorded file tree.",
)
KINDS = click.option(
    "--kinds", metavar="P=0-7,E=8-23", help="Declare the core kinds by hand; every record says so."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
FRESH = click.option(
    "--fresh", is_flag=True, help="Start anew; earlier results are kept beside it."
)
ALLOW_EMULATION = click.option(
    "--allow-emulation",
    is_flag=True,
    help="Engine vm: run guests without KVM too; their times are not this node's.",
)
UNDECIDED = click.option(
    "--undecided",
    is_flag=True,
    help="Repeat only undecided cases and their baselines, until decided or at STUDY's limit.",
)
SITE = click.option(
    "--site",
    metavar="SITE",
    envvar="PINSTUDY_SITE",
    shell_complete=complete_site,
    help="Who sets governors and tells energy here: a name that comes with pinstudy, or a file; "
    "see docs/settings.md (also: $PINSTUDY_SITE).",
)
STYLE = click.option(
    "--format",
    "style",
    type=click.Choice(["text", "markdown", "csv", "latex"]),
    default="text",
    show_default=True,
    help="How it is printed.",
)


def output_option(meaning: str, metavar: str = "DIR", *, required: bool = False) -> _Option:
    """Return --output, which takes a folder."""
    kind = Folder("--output")
    return click.option(
        "-o", "--output", required=required, type=kind, metavar=metavar, help=meaning
    )


OUTPUT = output_option("Where it is written; without it, in RESULTS.")


def file_option(*names: str, meaning: str) -> _Option:
    """Return an option of these names that takes a file."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option(*names, type=kind, metavar="FILE", help=meaning)


MARGIN = click.option(
    "--margin",
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Up to which difference cases are equivalent.",
)
RESULTS = click.option(
    "--results",
    type=Folder("--results"),
    envvar="PINSTUDY_RESULTS",
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Where results are kept (also: $PINSTUDY_RESULTS).",
)


_CASES = (
    ("--governors", "performance,powersave", "These governors instead of STUDY's."),
    ("--threads", "1,4", "These thread counts; builds without threads run one, or none."),
    ("--mappings", "NAMES", "These mappings: of `pinstudy mappings`, or STUDY's own."),
    ("--only", "WORDS", "Only cases of these apps, builds, sizes and mappings."),
    ("--exclude", "WORDS", "No case of any of these apps, builds, sizes and mappings."),
)
METER = click.option(
    "--meter", metavar="NAME", help="The meter of energy, by its name in `pinstudy doctor`."
)
REPETITIONS = click.option(
    "--repetitions",
    type=int,
    metavar="N",
    help="How often each case is run; more continue what was made.",
)


def override_options(command: _Command) -> _Command:
    """Add the options that change what a study asks for; `overrides_of` reads them."""
    for name, words, meaning in reversed(_CASES):
        command = click.option(
            name,
            multiple=True,
            callback=_names,
            metavar=words,
            help=meaning,
            shell_complete=complete_mappings if name == "--mappings" else None,
        )(command)
    return REPETITIONS(METER(command))


def _names(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words that an option names, joined by commas or given one by one."""
    return tuple(name.strip() for text in given for name in text.split(","))


def find_results(
    _context: click.Context, _parameter: click.Parameter, results: str | None
) -> str | None:
    """Return `results`, or the folder of that name below all results if only that one exists.

    An empty name is refused: for the system it is the current folder, with all that is below it.
    """
    if results is None:
        return None
    if not results:
        raise UserError(
            f"RESULTS {_EMPTY} a folder such as results/quick/mynode, or . for the current one"
        )
    below = _all_results() / results
    # os.path, because a name with a NUL raises with a Path.
    return str(below) if not os.path.isdir(results) and os.path.isdir(below) else results  # noqa: PTH112


def _find_all(
    context: click.Context, parameter: click.Parameter, results: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(filter(None, (find_results(context, parameter, source) for source in results)))


ONE_RESULTS = click.argument("results", callback=find_results, shell_complete=complete_results)
ALL_RESULTS = click.argument(
    "results", nargs=-1, required=True, callback=_find_all, shell_complete=complete_results
)


def _all_results() -> Path:
    return Path(os.environ.get("PINSTUDY_RESULTS") or "results")


def node_options(command: _Command) -> _Command:
    """Add --sysroot, --kinds and --json."""
    return SYSROOT(KINDS(JSON(command)))


def warn_of_options(command: click.Command, typed: Sequence[str], program: Sequence[str]) -> str:
    """Return a warning of options of the command that stand after a program; empty without any.

    `typed` are all words after the command's name, the last of them the program and its arguments,
    to which it gets the options. It ends with the command as it was probably meant.
    """
    from pinstudy.configs.app import THREADS_PLACE

    before = list(typed[: len(typed) - len(program)])
    before = before[:-1] if before[-1:] == ["--"] else before
    given = {word.partition("=")[0] for word in before}
    options = {name: option for option in command.params for name in _long_names(option)}
    moved, stay = [], list(program[:1])
    rest = list(program[1:])
    while rest and rest[0] != "--":
        word = rest.pop(0)
        name, joined, _ = word.partition("=")
        option = options.get(name)
        takes = option is not None and not getattr(option, "is_flag", False)
        value = [rest.pop(0)] if takes and not joined and rest else []
        lacks = takes != bool(joined or value)
        # An option on both sides is one of the program's, and so is one that is told {threads}.
        if option is None or name in given or lacks or THREADS_PLACE in "".join([word, *value]):
            stay += [word, *value]
        else:
            moved.append([word, *value])
    if not moved:
        return ""
    words = [*before, *chain.from_iterable(moved), "--", *stay, *rest]
    names = ", ".join(dict.fromkeys(option[0].partition("=")[0] for option in moved))
    line = " ".join(map(word_as_typed, words))
    verb = "is an option" if len(moved) == 1 else "are options"
    return (
        f"{names} {verb} of pinstudy, and passed to the program, because of the place after it; "
        f"was this meant: {PINSTUDY} {command.name} {line}"
    )


def _long_names(option: click.Parameter) -> list[str]:
    names = [*option.opts, *option.secondary_opts] if isinstance(option, click.Option) else []
    return [name for name in names if name.startswith("--")]
