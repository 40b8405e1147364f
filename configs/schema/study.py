"""What a study looks like in YAML, before its apps and mappings are looked up."""

from __future__ import annotations

from marshmallow import ValidationError

from configs.model import (
    COLLECTORS,
    CURRENT_GOVERNOR,
    ENGINES,
    LATENCY_PLANS,
    ORDERS,
    WAIT_POLICIES,
)
from configs.schema.app import AppSchema
from configs.schema.baseline import BaselineField
from configs.schema.batch import BatchSchema
from configs.schema.containers import OneOrMore, Reference, Section
from configs.schema.decode import Strict
from configs.schema.events import event_problem
from configs.schema.fields import Count, Flag, Name, Text, Word
from configs.schema.gate import TemperatureGateSchema
from configs.schema.mapping import InlineMappingSchema
from configs.schema.repetitions import RepetitionsField
from configs.schema.schedules import Schedule
from configs.schema.vm import VmSchema

# Linux Documentation/admin-guide/pm/cpufreq.rst, "Generic Scaling Governors". `userspace` is not
# among them: it is not a policy but a frequency that somebody writes.
GOVERNORS = (
    CURRENT_GOVERNOR,
    "performance",
    "powersave",
    "schedutil",
    "ondemand",
    "conservative",
)

# More threads than any node that Linux supports today has CPUs for is a slip of the pen.
MAX_THREADS = 4096


class Event(Text):
    """The name of one event, as perf list shows it."""

    def _convert(self, value: object) -> str:
        text = super()._convert(value)
        if problem := event_problem(text):
            raise ValidationError(problem)
        return text


def _mappings() -> OneOrMore:
    return OneOrMore(
        Reference(
            Text("the name of a mapping"),
            Section(InlineMappingSchema, "a mapping with name, selection, tightness"),
        )
    )


class ChoiceSchema(Strict):
    """What a study takes of one app."""

    app = Reference(
        Text("the name or file of an app"),
        Section(AppSchema, "an app, written out"),
        required=True,
    )
    variants = OneOrMore(Text("the name of a variant"), required=True)
    sizes = OneOrMore(Text("the name of a size"), required=True)
    threads = OneOrMore(Count("a thread count", 1, MAX_THREADS), required=True)
    schedules = OneOrMore(Schedule())
    mappings = _mappings()
    oversubscribe = Flag("true or false")


class StudySchema(Strict):
    """A study."""

    name = Name("the study's name")
    title = Text("a title", required=True)
    apps = OneOrMore(Section(ChoiceSchema, "an app with variants, sizes, threads"), required=True)
    engine = Word("engine", ENGINES)
    vm = Section(VmSchema, "a guest with the keys cpus and memory")
    vcpu_mapping = _mappings()
    batch = Section(BatchSchema, "a table with the key site")
    mappings = _mappings()
    governors = OneOrMore(Word("governor", GOVERNORS))
    repetitions = RepetitionsField()
    warmup = Count("how many runs of a case are not counted", 0, 1000)
    order = Word("order", ORDERS)
    seed = Count("a seed", 0, 2**32 - 1)
    wait_policy = OneOrMore(Word("wait policy", WAIT_POLICIES))
    collect = OneOrMore(Word("collector", COLLECTORS))
    events = OneOrMore(Event("an event of perf list, one an item"))
    temperature_gate = Section(TemperatureGateSchema, "a gate with the keys within and limit")
    baseline = BaselineField()
    latency = Word("pairs of CPUs", LATENCY_PLANS)
