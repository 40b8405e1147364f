"""How a study is spread over nodes, in YAML: `{site: cluster, spread: split, workers: 4}`."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, post_load, validates_schema

from configs.model import SPREADS, Spread
from configs.schema.containers import OneOrMore
from configs.schema.decode import Strict
from configs.schema.fields import AtKey, Count, Text, Word
from configs.schema.queue import ScriptWord

# More workers than any study has repetitions would have nothing to do.
MAX_WORKERS = 10000


class BatchSchema(Strict):
    """The site that gives nodes, and how they share the study."""

    site = Text("the name or file of a site", required=True)
    spread = Word("way to spread a study", SPREADS)
    nodes = OneOrMore(ScriptWord("the name of a node"))
    features = OneOrMore(ScriptWord("the name of a feature"))
    workers = Count("how many nodes share the study", 1, MAX_WORKERS)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _refuse_what_does_not_fit(
        self, data: dict[str, Any], original: dict[str, Any], **_: object
    ) -> None:
        """Refuse keys that the way to spread the study has no use for."""
        given = original.keys()
        errors: dict[str, list[str]] = {}
        if data.get("spread") == "split":
            if "nodes" in given:
                errors["nodes"] = [
                    AtKey("split takes any interchangeable nodes: name a feature that they share")
                ]
            if len(data.get("features", ())) > 1:
                errors["features"] = [
                    "split takes nodes with one feature; to compare nodes write spread: per-node"
                ]
        elif "spread" not in given or "spread" in data:
            if "workers" in given:
                errors["workers"] = [
                    AtKey(
                        "per-node has one worker for each node; to share a study among several "
                        "write spread: split"
                    )
                ]
            if {"nodes", "features"} <= given:
                errors["features"] = [
                    AtKey("nodes and features are both given; expected one of them")
                ]
        if errors:
            raise ValidationError(errors)

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Spread:
        return Spread(
            site=data["site"],
            how=data.get("spread", "per-node"),
            nodes=tuple(data.get("nodes", ())),
            features=tuple(data.get("features", ())),
            workers=data.get("workers"),
        )
