"""What a site is: a file of `configs/sites/`, or a user's own.

Most keys of its batch system become lines of shell scripts, so that few characters are allowed in
them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from base.cpulist import parse_cpulist
from base.structure import (
    As,
    AtKey,
    Called,
    Either,
    Inline,
    InvalidError,
    Mistake,
    OneOrMore,
    Table,
    Without,
)
from base.text import shown
from configs.values import (
    Arguments,
    Count,
    Duration,
    Name,
    Text,
    Word,
    split_words,
)

# Slurm, OpenPBS or PBS Professional, IBM Spectrum LSF, and Flux.
BATCH_SYSTEMS = ("slurm", "pbs", "lsf", "flux")
# Systems that need the number of CPUs as an option; the others give whole nodes as they are.
NEED_CPUS = ("pbs", "lsf")
# Who sets governors at a site: pinstudy writes the kernel's files, Slurm takes --cpu-freq; else
# cases run under the governor that is in force.
GOVERNOR_SETTERS = ("pinstudy", "slurm", "nobody")
PLACEHOLDER = "{governor}"
# The same of schedulers.
SCHEDULER_SETTERS = ("pinstudy", "nobody")
SCHEDULER_PLACEHOLDER = "{scheduler}"

# A batch system counts time limits in minutes, and checks them about as often.
MIN_TIME_LIMIT_S = 60.0
# The kernel's own upper bound (CONFIG_NR_CPUS) is 8192 on x86.
MAX_CPUS = 8192
MAX_AT_ONCE = 10000
BOTH_GIVEN = "nodes and features are both given; expected one of them"

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_MODULE = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._@+/:=-]{0,199}")
_OPTION = re.compile(r"\s*-.*")
_FOLDER = re.compile(r"/[^:]*")
_RESTORING = "a command like that of 'set', when another one sets the old {} back"


def is_script_word(text: str) -> bool:
    """Return whether a text can be the name of a node, feature, queue or account in a script."""
    return _WORD.fullmatch(text) is not None


class ScriptWord(Text):
    """A name that stands in a script as it is."""

    def __init__(self, expected: str) -> None:
        rule = "letters, digits and . _ @ - only, at most 128, the first a letter or digit"
        super().__init__(expected, _WORD, rule)


def _directive(text: str) -> str:
    """Refuse an option with an open quote."""
    split_words(text)
    return text.strip()


def _command(example: str, placeholder: str) -> As:
    """Return the kind of a command that has a place for the name to set."""

    def checked(command: tuple[str, ...]) -> tuple[str, ...]:
        if not command:
            raise InvalidError(f"the command is empty; expected one with {placeholder}")
        if not any(placeholder in argument for argument in command):
            raise InvalidError(f"{placeholder} is nowhere in the command; it stands for the name")
        return command

    return As(Arguments(example), checked)


def _who_sets(
    rule: type[GovernorRule | SchedulerRule], words: tuple[str, ...], what: str
) -> Either:
    """Return the kind of a rule: one of these words, or a table with commands."""
    table = Table(rule, "a table with the command that sets them", partial(rule, by="command"))
    return Either(As(Word(f"who sets {what}", words), rule), table)


def _cpus(text: str) -> tuple[int, ...]:
    try:
        return parse_cpulist(text)
    except ValueError as error:
        raise InvalidError(f"{shown(text)} is not a list of CPUs: {error}") from None


class _ByCommand:
    """Who sets something: the word `by`, or a command, for which the table must have `set`."""

    what: ClassVar[str]

    @classmethod
    def contradictions(cls, _: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse a table without the command."""
        if "set" not in present:
            yield ("set",), f"'set' is missing; expected the command that sets {cls.what}"


@dataclass(frozen=True)
class GovernorRule(_ByCommand):
    """Who sets governors: a word of GOVERNOR_SETTERS, or `command`.

    In the command `{governor}` and `{cpus}` are replaced.
    """

    what = "a governor"
    by: str = "pinstudy"
    set: Annotated[
        tuple[str, ...],
        _command("a command such as [sudo, set-governor, '{governor}', '{cpus}']", PLACEHOLDER),
        "the command that sets a governor",
    ] = ()
    restore: Annotated[
        tuple[str, ...],
        _command(_RESTORING.format("governor"), PLACEHOLDER),
        "the command that sets the old governor back, when it is another one",
    ] = ()


@dataclass(frozen=True)
class SchedulerRule(_ByCommand):
    """Who sets schedulers: a word of SCHEDULER_SETTERS, or `command`.

    In the command `{scheduler}` is replaced by what a study asks for, `kernel` for none.
    """

    what = "a scheduler"
    by: str = "pinstudy"
    set: Annotated[
        tuple[str, ...],
        _command("a command such as [sudo, set-scheduler, '{scheduler}']", SCHEDULER_PLACEHOLDER),
        "the command that sets a scheduler of sched_ext, or `kernel`",
    ] = ()
    restore: Annotated[
        tuple[str, ...],
        _command(_RESTORING.format("scheduler"), SCHEDULER_PLACEHOLDER),
        "the command that sets the old scheduler back, when it is another one",
    ] = ()


@dataclass(frozen=True)
class Queue:
    """How jobs request whole nodes at a site; `system` is a word of BATCH_SYSTEMS."""

    system: Annotated[
        str,
        Called("engine"),
        Word("engine", BATCH_SYSTEMS),
        "`slurm`, `pbs`, `lsf` or `flux`",
        Without("nothing can be submitted; the keys below are a mistake"),
    ]
    time_limit_s: Annotated[
        float,
        Called("time_limit"),
        Duration("a time of a minute or more, such as 30 min or 2 h", MIN_TIME_LIMIT_S),
        "what each job asks for, with its unit: a minute to 31 days",
    ]
    cpus: Annotated[
        int | None,
        Count("how many CPUs one node has", 1, MAX_CPUS),
        "the CPUs of one node",
        Without(
            "must be there for PBS and LSF, which are asked for so many; others give whole nodes "
            "as they are"
        ),
    ] = None
    queue: Annotated[
        str | None,
        ScriptWord("the name of a queue or partition"),
        "queue, or Slurm's partition",
        Without("the system's default"),
    ] = None
    account: Annotated[
        str | None,
        ScriptWord("the name of an account"),
        "who pays: account (`-A`), LSF's project (`-P`), Flux's bank",
        Without("the system's default"),
    ] = None
    nodes: Annotated[
        tuple[str, ...],
        OneOrMore(ScriptWord("the name of a node")),
        "what `per-node` is spread over when neither study nor command line say it",
        Without("one node, any"),
    ] = ()
    features: Annotated[
        tuple[str, ...],
        OneOrMore(ScriptWord("the name of a feature")),
        "in place of `nodes`, the same by what nodes have: one node with each feature",
        Without("one node, any"),
    ] = ()
    modules: Annotated[
        tuple[str, ...],
        OneOrMore(
            Text(
                "the name of a module",
                _MODULE,
                "letters, digits and . _ @ + - / : = only, at most 200",
            )
        ),
        "what `module load` takes, in order",
    ] = ()
    spack_view: Annotated[
        str | None,
        Text("the absolute path of a Spack view", _FOLDER, "it begins with / and has no colon"),
        "a view whose `bin` is put first on the PATH",
    ] = None
    directives: Annotated[
        tuple[str, ...],
        OneOrMore(
            As(
                Text(
                    "an option of the batch system, such as --reservation=maintenance",
                    _OPTION,
                    "it begins with -",
                ),
                _directive,
            )
        ),
        "further options of the system's own, one an item; they stand last, so that they override",
    ] = ()
    reserved_cpus: Annotated[
        tuple[int, ...],
        As(Text("a list of CPUs such as 0,32"), _cpus),
        "CPUs that the system keeps for itself on every node: no case is planned for them",
    ] = ()
    most_at_once: Annotated[
        int | None,
        Count("how many workers run at the same time", 1, MAX_AT_ONCE),
        "how many workers of an array run at a time",
        Without("all"),
    ] = None

    @staticmethod
    def contradictions(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse a missing `cpus` where the batch system needs it, and two kinds of targets."""
        system = values.get("system")
        if system in NEED_CPUS and "cpus" not in present:
            yield ("engine",), f"engine {system} needs the key 'cpus', how many CPUs one node has"
        if {"nodes", "features"} <= set(present):
            yield ("features",), AtKey(BOTH_GIVEN)


@dataclass(frozen=True)
class Site:
    """The settings of a place with many nodes; nothing is submitted without a `queue`.

    `source` is its file as it was read.
    """

    name: Annotated[str, Name("the site's name"), "its name, which is that of its file"]
    title: Annotated[str, Text("a title"), "one line for people"]
    governor: Annotated[
        GovernorRule,
        _who_sets(GovernorRule, GOVERNOR_SETTERS, "governors"),
        "who sets governors ([settings.md](settings.md))",
        Without("pinstudy, where it may"),
    ] = field(default_factory=GovernorRule)
    scheduler: Annotated[
        SchedulerRule,
        _who_sets(SchedulerRule, SCHEDULER_SETTERS, "schedulers"),
        "who sets schedulers ([scheduling.md](scheduling.md))",
        Without("pinstudy, where it may"),
    ] = field(default_factory=SchedulerRule)
    queue: Annotated[Queue | None, Inline(Queue, "keys of a batch system")] = None
    source: bytes = field(default=b"", repr=False, compare=False)
