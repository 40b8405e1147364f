"""What a site says of its batch system in YAML: the flat keys beside `engine`.

Most of these values become lines of shell scripts, so that what they may hold is narrow.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from typing import Any

from marshmallow import ValidationError, validates_schema

from base.cpulist import parse_cpulist
from base.text import shown
from configs.model import BATCH_SYSTEMS, Queue
from configs.schema.containers import OneOrMore
from configs.schema.decode import Strict
from configs.schema.fields import AtKey, Count, Duration, Text, ValueField, Word

# A batch system counts time limits in minutes, and looks at them about as often.
LEAST_TIME_LIMIT_S = 60.0
# The kernel's own upper bound (CONFIG_NR_CPUS) is 8192 on x86.
MAX_CPUS = 8192
MAX_AT_ONCE = 10000
# Systems whose options ask for so many CPUs; the others give whole nodes as they are.
NEED_CPUS = ("pbs", "lsf")
_NEEDED = {"time_limit": "a time of a minute or more, such as 30 min or 2 h"}
_NEEDED_CPUS = {"cpus": "how many CPUs one node has"}

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_MODULE = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._@+/:=-]{0,199}")
_FOLDER = re.compile(r"/[^:]*")


def is_script_word(text: str) -> bool:
    """Return whether a text can be the name of a node, feature, queue or account in a script."""
    return _WORD.fullmatch(text) is not None


class ScriptWord(Text):
    """A name that stands in a script as it is."""

    def _convert(self, value: object) -> str:
        text = super()._convert(value)
        if not is_script_word(text):
            raise ValidationError(
                f"{shown(text)} is not {self.expected}: letters, digits and . _ @ - only, at "
                "most 128, the first a letter or digit"
            )
        return text


class Module(Text):
    """What `module load` takes."""

    def _convert(self, value: object) -> str:
        text = super()._convert(value)
        if not _MODULE.fullmatch(text):
            raise ValidationError(
                f"{shown(text)} is not {self.expected}: letters, digits and . _ @ + - / : = only, "
                "at most 200"
            )
        return text


class Folder(Text):
    """A folder that can be on the PATH."""

    def _convert(self, value: object) -> str:
        text = super()._convert(value)
        if not _FOLDER.fullmatch(text):
            raise ValidationError(
                f"{shown(text)} is not {self.expected}: it begins with / and has no colon"
            )
        return text


class Directive(Text):
    """One option of the batch system's own; a text has no line breaks."""

    def _convert(self, value: object) -> str:
        text = super()._convert(value).strip()
        if not text.startswith("-"):
            raise ValidationError(f"{shown(text)} is not {self.expected}: it begins with -")
        try:
            shlex.split(text)
        except ValueError:
            raise ValidationError(f"{shown(text)} has a quote that is not closed") from None
        return text


class TimeLimit(Duration):
    """What a job asks for, as seconds."""

    def _convert(self, value: object) -> float:
        seconds = super()._convert(value)
        if seconds < LEAST_TIME_LIMIT_S:
            raise ValidationError(f"{shown(value)} is less than a minute; expected {self.expected}")
        return seconds


class CpuList(ValueField):
    """CPU numbers, as a list such as `0,32`."""

    def _convert(self, value: object) -> tuple[int, ...]:
        if not isinstance(value, str) or not value.strip():
            raise self.refuse(value)
        try:
            return parse_cpulist(value)
        except ValueError as error:
            raise ValidationError(f"{shown(value)} is not {self.expected}: {error}") from None


class QueueSchema(Strict):
    """The keys of a site that has a batch system."""

    engine = Word("engine", BATCH_SYSTEMS)
    queue = ScriptWord("the name of a queue or partition")
    account = ScriptWord("the name of an account")
    time_limit = TimeLimit(_NEEDED["time_limit"])
    cpus = Count(_NEEDED_CPUS["cpus"], 1, MAX_CPUS)
    nodes = OneOrMore(ScriptWord("the name of a node"))
    features = OneOrMore(ScriptWord("the name of a feature"))
    modules = OneOrMore(Module("the name of a module"))
    spack_view = Folder("the absolute path of a Spack view")
    directives = OneOrMore(
        Directive("an option of the batch system, such as --reservation=maintenance")
    )
    reserved_cpus = CpuList("a list of CPUs such as 0,32")
    most_at_once = Count("how many workers run at the same time", 1, MAX_AT_ONCE)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _refuse_halves(self, _: object, original: dict[str, Any], **__: object) -> None:
        """Refuse keys of a batch system without its name, and the name without what it needs."""
        engine = original.get("engine")
        errors: dict[str, list[str]] = {}
        if "engine" not in original:
            known = ", ".join(BATCH_SYSTEMS)
            what = f"is for batch systems: name yours by 'engine' beside it ({known})"
            for key in filter(original.__contains__, QueueSchema._declared_fields):
                errors[key] = [AtKey(f"{key!r} {what}")]
        elif isinstance(engine, str) and engine in BATCH_SYSTEMS:
            needed = _NEEDED | (_NEEDED_CPUS if engine in NEED_CPUS else {})
            lacks = [f"{key!r}, {such}" for key, such in needed.items() if key not in original]
            if lacks:
                errors["engine"] = [f"engine {engine} needs the key {key}" for key in lacks]
        if errors:
            raise ValidationError(errors)


def queue_of(data: dict[str, Any]) -> Queue | None:
    """Return the queue of a site's valid keys, None when it has no batch system."""
    if "engine" not in data:
        return None
    given = {field.name for field in fields(Queue)} & data.keys()
    values: dict[str, Any] = {
        key: tuple(data[key]) if isinstance(data[key], list) else data[key] for key in given
    }
    return Queue(system=data["engine"], time_limit_s=data["time_limit"], **values)
