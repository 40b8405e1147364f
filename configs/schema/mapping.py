"""What a mapping looks like in YAML."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, post_load, validates_schema

from configs.checks.mapping import why_contradictory
from configs.model import MECHANISMS, SELECTIONS, TIGHTNESSES, Mapping
from configs.schema.containers import Named, Section
from configs.schema.decode import Strict
from configs.schema.fields import Name, Text, Word

SHAPE = "a mapping with the keys selection and tightness"


class MappingSchema(Strict):
    """A mapping under its name."""

    selection = Word("selection", SELECTIONS, required=True)
    tightness = Word("tightness", TIGHTNESSES, required=True)
    mechanism = Word("mechanism", MECHANISMS)
    summary = Text("a summary")

    @validates_schema(skip_on_field_errors=False)
    def _refuse_contradictions(self, data: dict[str, Any], **_: object) -> None:
        if "selection" in data and "tightness" in data:
            key, reason = why_contradictory(
                data["selection"], data["tightness"], data.get("mechanism")
            )
            if reason:
                raise ValidationError({key: [reason]})

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Mapping:
        return Mapping(**{"name": ""} | data)


class InlineMappingSchema(MappingSchema):
    """A mapping that a study defines where it uses it."""

    name = Name("a mapping's name", required=True)


class MappingsSchema(Strict):
    """A file of mappings."""

    mappings = Named(Section(MappingSchema, SHAPE), required=True)
