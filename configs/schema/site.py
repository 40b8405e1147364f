"""What a site looks like in YAML: the file of `configs/sites/`, or a user's own."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, post_load

from configs.model import GOVERNOR_SETTERS, GovernorRule, Site
from configs.schema.containers import Reference, Section
from configs.schema.decode import Strict
from configs.schema.fields import Arguments, Name, Text, Word
from configs.schema.queue import QueueSchema, queue_of

PLACEHOLDER = "{governor}"


class _Command(Arguments):
    """A command line that is told which governor to set."""

    def _convert(self, value: object) -> tuple[str, ...]:
        arguments = super()._convert(value)
        if not arguments:
            raise ValidationError(f"the command is empty; expected {self.expected}")
        if not any(PLACEHOLDER in argument for argument in arguments):
            raise ValidationError(
                f"{PLACEHOLDER} is nowhere in the command; it stands for the name"
            )
        return arguments


class GovernorCommandSchema(Strict):
    """The command by which a site sets governors."""

    set = _Command("a command such as [sudo, set-governor, '{governor}', '{cpus}']", required=True)
    restore = _Command("a command like that of 'set', when another one sets the old governor back")

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> GovernorRule:
        return GovernorRule("command", **data)


class SiteSchema(QueueSchema):
    """A site, with its batch system if it has one."""

    name = Name("the site's name")
    title = Text("a title", required=True)
    governor = Reference(
        Word("who sets governors", GOVERNOR_SETTERS),
        Section(GovernorCommandSchema, "a table with the command that sets them"),
    )

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Site:
        rule = data.get("governor", GovernorRule())
        if isinstance(rule, str):
            rule = GovernorRule(rule)
        return Site(data.get("name", ""), data["title"], rule, queue_of(data))
