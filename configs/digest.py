"""The digest of what a study asks for: the same for the same cases, however the file is written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from configs.model import Study

# Where the study stands, what it is called in tables, forecasts, what is done beside its runs, and
# on which nodes they are made: they change no run.
_NOT_ASKED_FOR = ("path", "digest", "title", "summary", "estimate_s", "c2c", "fixed_time", "spread")
# Keys inside a study's parts that came later: where they are not used, they are left out.
_LATER = ("placement", "mappings", "oversubscribe")


def study_digest(study: Study) -> str:
    """Return the hexadecimal SHA-256 of the study's canonical JSON (sorted keys, no spaces).

    What a study does not ask for (None) is left out: a new key leaves older studies what they were.
    """
    asked = {key: value for key, value in asdict(study).items() if value is not None}
    text = json.dumps(_asked_for(asked), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
