"""What a site is: a file of `pinstudy/configs/sites/`, or a user's own.

Most keys of its batch system become lines of shell scripts, so that few characters are allowed in
them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.text import shown
from pinstudy.configs.decoding import INLINE, NO_KEY, AtKey, InvalidError, Mistake, called, written
from pinstudy.configs.values import (
    Text,
    command_line,
    count,
    duration,
    label,
    regex,
    split_words,
    text,
    word,
)

# The modules of pinstudy/runners/batch_systems, each with the keys that it needs of a site.
BATCH_SYSTEMS: dict[str, tuple[str, ...]] = {"slurm": (), "pbs": ("cpus",), "flux": ()}
# Who sets governors at a site: pinstudy writes the kernel's files, Slurm takes --cpu-freq; else
# cases run under the governor that is in force.
GOVERNOR_SETTERS = ("pinstudy", "slurm", "nobody")
PLACEHOLDER = "{governor}"
# In the commands of a batch system.
SCRIPT, JOB = "{script}", "{job}"
# The same of schedulers.
SCHEDULER_SETTERS = ("pinstudy", "nobody")
SCHEDULER_PLACEHOLDER = "{scheduler}"

# A batch system counts time limits in minutes, and checks them about as often.
MIN_TIME_LIMIT_S = 60.0
# The kernel's own upper bound (CONFIG_NR_CPUS) is 8192 on x86.
MAX_CPUS = 8192
MAX_AT_ONCE = 10000
BOTH_GIVEN = "nodes and features are both given; expected one of them"

# Keys of the options that pinstudy itself writes for a batch system.
_NATIVE_KEYS = ("cpus", "queue", "account", "directives", "most_at_once")

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_MODULE = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._@+/:=-]{0,199}")
_OPTION = re.compile(r"\s*-.*")
_FOLDER = re.compile(r"/[^:]*")
_RESTORING = "a command like that of 'set', when another one sets the old {} back"


def is_script_word(text: str) -> bool:
    """Return whether a text can be the name of a node, feature, queue or account in a script."""
    return _WORD.fullmatch(text) is not None


def script_word(expected: str) -> Meta:
    """Return the note of a name that stands in a script as it is."""
    rule = "letters, digits and . _ @ - only, at most 128, the first a letter or digit"
    return text(expected, _WORD, rule)


NodeName = Annotated[str, script_word("the name of a node")]
FeatureName = Annotated[str, script_word("the name of a feature")]


def _directive(plain: str) -> str:
    """Refuse an option with an open quote."""
    split_words(plain)
    return plain.strip()


_OPTION_TEXT = "an option of the batch system, such as --reservation=maintenance"
_Directive = Annotated[str, written(text(_OPTION_TEXT, _OPTION, "it begins with -"), to=_directive)]
_MODULE_RULE = "letters, digits and . _ @ + - / : = only, at most 200"
_Module = Annotated[str, text("the name of a module", _MODULE, _MODULE_RULE)]


def _command(example: str, placeholder: str, meaning: str = "the name") -> Meta:
    """Return the note of a command in which a placeholder stands for what `meaning` says."""

    def checked(command: tuple[str, ...]) -> tuple[str, ...]:
        if not command:
            raise InvalidError(f"the command is empty; expected one with {placeholder}")
        if not any(placeholder in argument for argument in command):
            raise InvalidError(f"{placeholder} is nowhere in the command; it stands for {meaning}")
        return command

    return written(Annotated[tuple[str, ...], command_line(example)], to=checked)


def _who_sets(rule: type[GovernorRule | SchedulerRule], words: tuple[str, ...], noun: str) -> Meta:
    """Return the note of a rule: one of these words, or a table with commands."""

    def rule_of(form: Any) -> Any:  # noqa: ANN401 - a word or a rule
        return rule(form) if isinstance(form, str) else replace(form, by="command")

    return written(word(f"who sets {noun}", words), rule, to=rule_of)


def _cpus(text: str) -> tuple[int, ...]:
    try:
        return parse_cpulist(text)
    except ValueError as error:
        raise InvalidError(f"{shown(text)} is not a list of CPUs: {error}") from None


class _ByCommand:
    """Who sets something: the word `by`, or a command, for which the table must have `set`."""

    expected: ClassVar[str] = "a table with the command that sets them"
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

    what: ClassVar[str] = "a governor"
    by: Annotated[str, NO_KEY] = "pinstudy"
    set: Annotated[
        tuple[str, ...],
        _command("a command such as [sudo, set-governor, '{governor}', '{cpus}']", PLACEHOLDER),
    ] = ()
    """the command that sets a governor"""
    restore: Annotated[tuple[str, ...], _command(_RESTORING.format("governor"), PLACEHOLDER)] = ()
    """the command that sets the old governor back, when it is another one"""


@dataclass(frozen=True)
class SchedulerRule(_ByCommand):
    """Who sets schedulers: a word of SCHEDULER_SETTERS, or `command`.

    In the command `{scheduler}` is replaced by what a study asks for, `kernel` for none.
    """

    what: ClassVar[str] = "a scheduler"
    by: Annotated[str, NO_KEY] = "pinstudy"
    set: Annotated[
        tuple[str, ...],
        _command("a command such as [sudo, set-scheduler, '{scheduler}']", SCHEDULER_PLACEHOLDER),
    ] = ()
    """the command that sets a scheduler of sched_ext, or `kernel`"""
    restore: Annotated[
        tuple[str, ...], _command(_RESTORING.format("scheduler"), SCHEDULER_PLACEHOLDER)
    ] = ()
    """the command that sets the old scheduler back, when it is another one"""


@dataclass(frozen=True)
class OutputPatterns:
    """What the commands of a batch system print."""

    expected: ClassVar[str] = "a table with the patterns job, pending, running and ended"
    job: Annotated[str, regex(picks=False)]
    """the job's id, printed by `submit`: the first group, or all that matches"""
    pending: Annotated[str, regex(picks=False)]
    """printed by `poll`: the job waits"""
    running: Annotated[str, regex(picks=False)]
    """the job has a node"""
    ended: Annotated[str, regex(picks=False)]
    """the job has ended, or is not known any more; also printed by `cancel`"""


# What a meter takes in.
METER_SCOPES = ("package", "board", "system")
# What a command may print, by its word: the unit that it is made of, W or J, and how many.
METER_UNITS = {
    "W": ("W", 1.0),
    "mW": ("W", 1e-3),
    "J": ("J", 1.0),
    "mJ": ("J", 1e-3),
    "Wh": ("J", 3600.0),
    "kWh": ("J", 3.6e6),
}
MIN_UPDATE_S, MAX_UPDATE_S = 1e-3, 60.0
MeterName = Annotated[
    str,
    text(
        "the name of a meter of `pinstudy doctor`, such as hwmon:ina226/power1",
        re.compile(r"[a-z]+(?::[A-Za-z0-9._+@/:-]{1,120})?"),
        "a word, and after a colon letters, digits and . _ + @ / : -",
    ),
]


@dataclass(frozen=True)
class EnergyRule:
    """Which meter tells the energy at a site: one that nodes show, by its name, or a command."""

    expected: ClassVar[str] = "a table with a meter, or with a command, its unit, scope and update"
    meter: MeterName | None = None
    """the [meter](energy-meters.md) to use, by its name"""
    command: Annotated[
        tuple[str, ...] | None, command_line("a command such as [read-pdu, outlet-7]")
    ] = None
    """in place of `meter`: prints a power, or energy since some moment"""
    pattern: Annotated[str, regex(picks=True)] | None = None
    """picks the number from what it prints by group 1. Without it: that is the number alone"""
    unit: Annotated[str, word("unit", METER_UNITS)] | None = None
    """`W`, `mW`, `J`, `mJ`, `Wh` or `kWh`"""
    scope: Annotated[str, word("scope", METER_SCOPES)] | None = None
    """what it takes in: `package`, `board` or `system`. Without it, of a `meter`: as
    `pinstudy doctor` says"""
    update_s: (
        Annotated[
            float,
            duration(
                "how often the value is renewed, from 1 ms to 60 s", MIN_UPDATE_S, MAX_UPDATE_S
            ),
            called("update"),
        ]
        | None
    ) = None
    """how often the value is renewed. Without it, of a `meter`: as `pinstudy doctor` says"""

    @staticmethod
    def contradictions(_: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse two meters or none, a command without its facts, and the facts of none."""
        if len({"meter", "command"} & set(present)) != 1:
            yield (), "expected either 'meter' or 'command'"
        elif "command" in present:
            for key in ("unit", "scope", "update"):
                if key not in present:
                    yield ("command",), f"{key!r} is missing: no command tells it"
        else:
            for key in sorted({"pattern", "unit"} & set(present)):
                yield (key,), AtKey(f"{key!r} has no effect without a command")


_JOBS_ID = "the job's id"


@dataclass(frozen=True)
class SystemCommands:
    """A batch system by its commands, which are lists of arguments; no shell reads them."""

    expected: ClassVar[str] = "a table with the commands submit, poll and cancel, and patterns"
    submit: Annotated[
        tuple[str, ...],
        _command("a command such as [qsub, '{script}']", SCRIPT, "the script's path"),
    ]
    """submits `{script}`; may have the job's `{name}`, `{node}`, `{feature}`, `{time_limit}`
    (h:mm:ss) or `{minutes}`, and the folder `{logs}`"""
    poll: Annotated[tuple[str, ...], _command("a command such as [qstat, '{job}']", JOB, _JOBS_ID)]
    """prints how the job `{job}` stands"""
    cancel: Annotated[tuple[str, ...], _command("a command such as [qdel, '{job}']", JOB, _JOBS_ID)]
    """ends it"""
    patterns: OutputPatterns
    """regular expressions for what they print"""


@dataclass(frozen=True)
class Queue:
    """How jobs request whole nodes at a site.

    `system` is a word of BATCH_SYSTEMS, or the commands of another batch system.
    """

    system: Annotated[
        str | SystemCommands,
        written(word("batch system", BATCH_SYSTEMS), SystemCommands),
        called("batch_system", before="engine", file="site"),
    ]
    """`slurm`, `pbs`, `flux`, or the
    [commands of another one](batch-systems.md#another-batch-system). Without it: nothing can be
    submitted, and the keys below are a mistake"""
    time_limit_s: Annotated[
        float,
        duration("a time of a minute or more, such as 30 min or 2 h", MIN_TIME_LIMIT_S),
        called("time_limit"),
    ]
    """of each job, with its unit: a minute to 31 days"""
    cpus: Annotated[int, count("how many CPUs one node has", 1, MAX_CPUS)] | None = None
    """the CPUs of one node. Without it: required for PBS; others give whole nodes"""
    queue: Annotated[str, script_word("the name of a queue or partition")] | None = None
    """queue, or Slurm's partition. Without it: the system's default"""
    account: Annotated[str, script_word("the name of an account")] | None = None
    """who pays: account (`-A`), Flux's bank. Without it: the system's default"""
    nodes: tuple[NodeName, ...] = ()
    """the nodes of `per-node`, unless study or command line name them. Without it: any one"""
    features: tuple[FeatureName, ...] = ()
    """in place of `nodes`: one node with each feature. Without it: any one"""
    modules: tuple[_Module, ...] = ()
    """what `module load` takes, in order"""
    spack_view: (
        Annotated[
            str,
            text("the absolute path of a Spack view", _FOLDER, "it begins with / and has no colon"),
        ]
        | None
    ) = None
    """a view whose `bin` is put first on the PATH"""
    directives: tuple[_Directive, ...] = ()
    """further options of the system's own, which override others"""
    reserved_cpus: Annotated[
        tuple[int, ...], written(Text, to=_cpus, expected="a list of CPUs such as 0,32")
    ] = ()
    """CPUs that no case is planned for: the system keeps them for itself"""
    most_at_once: (
        Annotated[int, count("how many workers run at the same time", 1, MAX_AT_ONCE)] | None
    ) = None
    """how many workers of a split study run at a time. Without it: all"""

    @staticmethod
    def contradictions(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse a missing key that the batch system needs, and two kinds of targets."""
        system = values.get("system")
        needed = BATCH_SYSTEMS.get(system, ()) if isinstance(system, str) else ()
        for key in needed:
            if key not in present:
                yield ("batch_system",), f"batch_system {system} needs the key {key!r}"
        for key in _NATIVE_KEYS if system and not isinstance(system, str) else ():
            if key in present:
                instead = "where batch_system has commands, 'submit' says what a job asks for"
                yield (key,), AtKey(f"{key!r} has no effect here: {instead}")
        if {"nodes", "features"} <= set(present):
            yield ("features",), AtKey(BOTH_GIVEN)


@dataclass(frozen=True)
class Site:
    """The settings of a place with many nodes; nothing is submitted without a `queue`.

    `source` is its file as it was read, `path` the file's name in messages.
    """

    name: Annotated[str, label("the site's name")]
    """its name, which is that of its file"""
    title: Annotated[str, text("a title")]
    """one line for people"""
    governor: Annotated[GovernorRule, _who_sets(GovernorRule, GOVERNOR_SETTERS, "governors")] = (
        field(default_factory=GovernorRule)
    )
    """who sets governors ([settings.md](settings.md)). Without it: pinstudy, where it may"""
    scheduler: Annotated[
        SchedulerRule, _who_sets(SchedulerRule, SCHEDULER_SETTERS, "schedulers")
    ] = field(default_factory=SchedulerRule)
    """who sets schedulers ([scheduling.md](scheduling.md)). Without it: pinstudy, where it may"""
    energy: EnergyRule | None = None
    """the meter of energy: `{meter: NAME}`, or
    [a command](energy-meters.md#a-sites-own-command). Without it: the best that a node has"""
    queue: Annotated[Queue | None, INLINE] = None
    source: Annotated[bytes, NO_KEY] = field(default=b"", repr=False, compare=False)
    path: Annotated[str, NO_KEY] = field(default="", compare=False)
