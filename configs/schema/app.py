"""What an app looks like in YAML: the file of `configs/apps/`, or the same inside a study."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, post_load, validates_schema

from base.text import shown, unknown_word
from configs.model import RUNTIMES, App, Check, Metric, OwnPlacement, Size, Variant
from configs.schema.containers import Named, OneOrMore, Section, Table
from configs.schema.decode import Strict
from configs.schema.fields import (
    Arguments,
    Count,
    Duration,
    Flag,
    Name,
    Pattern,
    Range,
    Text,
    Word,
)
from configs.schema.schedules import KINDS, Schedule, kind_of

STREAMS = ("stdout", "stderr")
DEFAULT_ARGUMENTS = ("{size}",)


class VariantSchema(Strict):
    """A build of an app."""

    program = Text("a program's name or path", required=True)
    runtime = Word("OpenMP runtime", RUNTIMES, required=True)

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Variant:
        return Variant("", **data)


class SizeSchema(Strict):
    """A problem size."""

    arguments = Arguments("the size's arguments, such as -s 10", required=True)
    estimate = Duration("the time of one thread, such as 2 s")
    quiet = Flag("true or false")
    expect = Table(Range("a number, such as 575, or a range, such as 1.4 to 1.6"))

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Size:
        return Size(
            "",
            data["arguments"],
            data.get("estimate"),
            data.get("quiet", False),
            data.get("expect", {}),
        )


class MetricSchema(Strict):
    """A number that the program prints."""

    pattern = Pattern("a regular expression", picks=True, required=True)
    unit = Text("a unit, such as s or J; 1 for a plain number", required=True)
    stream = Word("stream", STREAMS)

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Metric:
        return Metric("", **data)


class CheckSchema(Strict):
    """How a run proves its result."""

    failed_status = Count("an exit status", 1, 255)
    pattern = Pattern("a regular expression", picks=False)
    stream = Word("stream", STREAMS)
    command = Arguments("a command and its arguments, such as ./verify.sh")

    @validates_schema(skip_on_field_errors=False)
    def _refuse_no_command(self, data: dict[str, Any], **_: object) -> None:
        command = data.get("command")
        if command is not None and not (command and command[0]):
            raise ValidationError({"command": ["names no program; expected such as ./verify.sh"]})

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Check:
        return Check(**data)


class OwnPlacementSchema(Strict):
    """How a program is told about its threads' CPUs."""

    pin = Arguments("the arguments by which the program pins its threads, with {cpus}")
    expect = Arguments("the arguments by which the program checks its threads, with {cpus}")

    @validates_schema(skip_on_field_errors=False)
    def _refuse_arguments_without_cpus(self, data: dict[str, Any], **_: object) -> None:
        for key, arguments in data.items():
            if not any("{cpus}" in argument for argument in arguments):
                raise ValidationError({key: ["has no {cpus}, the place of the CPU of each thread"]})

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> OwnPlacement:
        return OwnPlacement(**data)


class AppSchema(Strict):
    """A program under study."""

    name = Name("the app's name")
    title = Text("a title", required=True)
    variants = Named(Section(VariantSchema, "a program and its runtime"), required=True)
    sizes = Named(Section(SizeSchema, "the size's arguments"), required=True)
    arguments = Arguments("the arguments, with {size} for those of the size")
    metrics = Named(Section(MetricSchema, "a pattern and a unit"))
    check = Section(CheckSchema, "a table with the keys failed_status, pattern, stream, command")
    schedules = OneOrMore(Word("kind of schedule", KINDS))
    default_schedule = Schedule()
    limit = Duration("a time, such as 10 min")
    placement = Section(OwnPlacementSchema, "a table with the keys pin and expect")
    c2c = Flag("true or false")
    fixed_time = Flag("true or false")
    implementation = Text("whose program it is, such as pinstudy's own Lulesh")
    algorithm = Name("the name of what several apps compute")
    obtain = Text("the command that gets the programs, such as spack install stream")

    @validates_schema(skip_on_field_errors=False)
    def _refuse_contradictions(self, data: dict[str, Any], **_: object) -> None:
        if "{size}" not in data.get("arguments", DEFAULT_ARGUMENTS):
            message = "has no {size}, the place of the size's arguments"
            raise ValidationError({"arguments": [message]})
        default, kinds = data.get("default_schedule"), data.get("schedules", [])
        if default is not None and kind_of(default) not in kinds:
            listed = ", ".join(filter(None, kinds)) or "none"
            message = f"{shown(default)} is not among the app's schedules ({listed})"
            raise ValidationError({"default_schedule": [message]})
        errors = {}
        sizes = {n: s for n, s in data.get("sizes", {}).items() if isinstance(s, Size)}
        for name, size in sizes.items():
            unknown = [metric for metric in size.expect if metric not in data.get("metrics", {})]
            if unknown:
                known = data.get("metrics", {})
                messages = {key: [unknown_word("metric", key, known)] for key in unknown}
                errors[name] = {"expect": messages}
        if errors:
            raise ValidationError({"sizes": errors})

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> App:
        return App(
            name=data.get("name", ""),
            title=data["title"],
            variants=data["variants"],
            sizes=data["sizes"],
            arguments=data.get("arguments", DEFAULT_ARGUMENTS),
            metrics=tuple(data.get("metrics", {}).values()),
            check=data.get("check", Check()),
            schedules=tuple(data.get("schedules", ())),
            default_schedule=data.get("default_schedule"),
            limit_s=data.get("limit", App.limit_s),
            placement=data.get("placement"),
            c2c=data.get("c2c", False),
            fixed_time=data.get("fixed_time", False),
            implementation=data.get("implementation", ""),
            algorithm=data.get("algorithm"),
            obtain=data.get("obtain", ""),
        )


def schedule_problem(app: App, schedule: str) -> str | None:
    """Return why a study cannot ask this app for a schedule, or None."""
    if not app.schedules:
        return f"app {app.name!r} has no loops that take a schedule; leave {schedule!r} out"
    if kind_of(schedule) not in app.schedules:
        return unknown_word("schedule", schedule, app.schedules, f" to app {app.name!r}")
    return None
