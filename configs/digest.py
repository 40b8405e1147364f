"""The digest of what a study asks for: the same for the same cases, however the file is written."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from configs.study import AppChoice, Study

# These change no run: where the study stands, its names in tables, forecasts, what is done beside
# its runs, on which nodes they are made, how many of them at most, and how long a race may take.
_NOT_ASKED_FOR = (
    *("path", "source", "digest", "title", "summary", "estimate_s", "c2c", "fixed_time", "spread"),
    *("implementation", "algorithm", "obtain", "engine"),
    *("repetitions", "within_s", "runs"),
)
# Keys of a study's parts that are left out where unused, so that they change no digest there.
_LATER = ("placement", "mappings", "oversubscribe", "command", "expect", "vcpu_mappings")
# The place of an app's text; no text of a file has a NUL.
_PLACE = re.compile(r'"\\u0000([0-9]+)"')


def study_digest(study: Study) -> str:
    """Return the hexadecimal SHA-256 of the study's canonical JSON (sorted keys, no spaces).

    Keys that a study does not use (None) are left out: a new key leaves other digests as they are.
    """
    asked = {key: value for key, value in _fields(study).items() if value is not None}
    # A thousand entries may name the same app, and one text would have a copy of it for each.
    apps = {id(choice.app): choice.app for choice in study.apps}
    places = {which: f"\0{number}" for number, which in enumerate(apps)}
    asked["apps"] = [_fields(choice) | {"app": places[id(choice.app)]} for choice in study.apps]
    texts = [_canonical(asdict(app)).encode() for app in apps.values()]
    digest = hashlib.sha256()
    for number, part in enumerate(_PLACE.split(_canonical(asked))):
        digest.update(texts[int(part)] if number % 2 else part.encode())
    return digest.hexdigest()


def _fields(it: Study | AppChoice) -> dict[str, Any]:
    """Return the fields as asdict does, without `app` and `apps`."""
    apps = {"app", "apps"}
    return {
        field.name: _plain(getattr(it, field.name))
        for field in fields(it)
        if field.name not in apps
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _canonical(value: object) -> str:
    return json.dumps(_asked_for(value), sort_keys=True, separators=(",", ":"))


def _asked_for(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: _asked_for(inner)
            for key, inner in value.items()
            if key not in _NOT_ASKED_FOR and not (key in _LATER and not inner)
        }
    if isinstance(value, (list, tuple)):
        return [_asked_for(inner) for inner in value]
    return value
