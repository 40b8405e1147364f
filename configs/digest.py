"""The digest of what a study asks for: the same for the same cases, however the file is written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import is_dataclass

from configs.study import Study

# These change no run: where the study stands, its names in tables, forecasts, what is done beside
# its runs, on which nodes they are made, how many of them at most, and how long a race may take.
_NOT_ASKED_FOR = (
    *("path", "source", "digest", "title", "summary", "estimate_s", "c2c", "fixed_time", "spread"),
    *("implementation", "algorithm", "obtain", "engine"),
    *("repetitions", "within_s", "runs"),
)


def study_digest(study: Study) -> str:
    """Return the hexadecimal SHA-256 of the study's canonical JSON (sorted keys, no spaces).

    Where the study has an app, its JSON has the digest of the app's. Fields that a study does not
    use (None) are left out: a new one leaves other digests as they are.
    """
    # A thousand entries may name the same app, which is hashed once.
    apps = {id(choice.app): choice.app for choice in study.apps}
    digests = {which: _sha256(_asked_for(app)) for which, app in apps.items()}
    choices = [_asked_for(choice, app=digests[id(choice.app)]) for choice in study.apps]
    return _sha256(_asked_for(study, apps=choices))


def _asked_for(table: object, **instead: object) -> dict[str, object]:
    """Return the fields of a dataclass that change its runs, some of them with other values."""
    return {
        field: _plain(value)
        for field, value in (vars(table) | instead).items()
        if value is not None and field not in _NOT_ASKED_FOR
    }


def _plain(value: object) -> object:
    if is_dataclass(value):
        return _asked_for(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _sha256(asked: dict[str, object]) -> str:
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
