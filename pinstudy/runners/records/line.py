"""A record and its line in a shard: encoded, decoded and checked.

A line ends with a checksum of what stands before it: a digit that was changed since it was written
is valid JSON of the right type. A line with an impossible status, case, repetition, warm-up flag or
time is no record. Any other impossible value is removed, and `unavailable` gives the reason, as for
what was not measured.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin
from zlib import crc32

import msgspec
from msgspec import NODEFAULT

from pinstudy.base.decoding import dict_type, plain_type
from pinstudy.runners.records.record import ENGINES, FIELDS, NAMES, SCHEMA, STANDS_FOR, Record
from pinstudy.runners.records.status import RUN_STATUSES

_CHECKSUM = re.compile(rb',"crc32":"[0-9a-f]{8}"}\n')
_CHECKSUM_BYTES = len(b',"crc32":"01234567"}\n')
# Without the value, which may differ in each of a thousand records.
_WRONG = "what the record says is impossible"
_TYPES = {field.name: field.type for field in FIELDS}
_TYPES_OF = {
    name: {field.name: field.type for field in msgspec.structs.fields(group)}
    for name, group in ENGINES.items()
}
# Decodes and checks a line in one pass.
_DECODER = msgspec.json.Decoder(dict_type(Record))
_DEFAULTS = {
    field.name: field.default if field.default is not NODEFAULT else field.default_factory()
    for field in FIELDS
}


@dataclass(frozen=True)
class InvalidLine:
    """A line of a shard that is no record; `why` is one of a few texts, which contain no values."""

    why: str


TORN = InvalidLine("cut off or damaged")
ALTERED = InvalidLine("changed since they were written (their checksum is another)")


class SchemaError(ValueError):
    """The record has another schema than this pinstudy's."""

    def __init__(self, schema: object) -> None:
        self.schema = schema
        super().__init__(f"record schema {schema!r}")


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record's line. Of a value that no record can have it has the reason instead.

    A field that has its default is left out. Raises ValueError for what JSON cannot hold, such as
    NaN, where no field is declared.
    """
    fields = without_impossible_values({"schema": SCHEMA} | dict(record))
    fields = {
        name: value
        for name, value in fields.items()
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }
    if "unavailable" in fields:
        fields["unavailable"] = _brief(fields)
    if "counters" in fields:
        fields["counters"] = [_brief_count(count) for count in fields["counters"]]
    return sealed(json.dumps(fields, separators=(",", ":"), allow_nan=False).encode())


def sealed(record: bytes) -> bytes:
    """Return the line of a record in JSON: with its checksum, and a line break."""
    body = record.removesuffix(b"}")
    return body + _end(body)


def _end(body: bytes) -> bytes:
    """Return what stands after a record's fields: their checksum."""
    return b',"crc32":"%08x"}\n' % crc32(body)


def record_in(line: bytes) -> dict[str, Any] | InvalidLine:
    """Return the record of a line, without what is impossible, or why the line is none.

    Raises SchemaError for the record of another version.
    """
    try:
        record, is_possible = _decoded(line)
    except (ValueError, RecursionError):
        return TORN
    if not isinstance(record, dict):
        return TORN
    return _checked(record, line, is_possible=is_possible)


def _decoded(line: bytes) -> tuple[Any, bool]:
    """Return what a line has, and whether all of it is possible: then it has no other fields."""
    try:
        return _DECODER.decode(line), True
    except msgspec.DecodeError:
        # It takes numbers that are not finite, too, which cost a field and not the record.
        return json.loads(line), False


def _checked(
    record: dict[str, Any], line: bytes, *, is_possible: bool
) -> dict[str, Any] | InvalidLine:
    # Before any of its fields is used, the schema included.
    if (unchanged := _is_unchanged(line)) is False:
        return ALTERED
    schema = record.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise SchemaError(schema)
    if not unchanged:
        return ALTERED
    del record["crc32"]
    if not is_possible:
        if why := _impossible_reason(record):
            return InvalidLine(why)
        declared = {name: value for name, value in record.items() if name in NAMES}
        record = _without_impossible_values(declared)
    if why := _missing_reason(record):
        return InvalidLine(why)
    if record.get("unavailable"):
        record["unavailable"] = _in_full(record)
    return record


def _is_unchanged(line: bytes) -> bool | None:
    """Return whether a line's checksum agrees with its content; None without a checksum."""
    # A line that lacks only its line break is whole.
    line = line if line.endswith(b"\n") else line + b"\n"
    body, end = line[:-_CHECKSUM_BYTES], line[-_CHECKSUM_BYTES:]
    if end == _end(body):
        return True
    return False if _CHECKSUM.fullmatch(end) else None


def without_impossible_values(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without the values that its declaration excludes, with the reasons."""
    return record if _is_of(record, Record) else _without_impossible_values(record)


def _without_impossible_values(record: dict[str, Any]) -> dict[str, Any]:
    kept, wrong = {}, []
    for name, value in record.items():
        possible, names = _possible(name, value, _TYPES.get(name, Any))
        # Of reasons that are none nobody needs to know why.
        wrong += names if name != "unavailable" else []
        if not names or possible:
            kept[name] = possible
    recorded = kept.get("unavailable")
    return kept | {"unavailable": (recorded or {}) | dict.fromkeys(sorted(wrong), _WRONG)}


def _possible(name: str, value: object, declared: Any) -> tuple[Any, list[str]]:  # noqa: ANN401
    """Return what is possible of a field's value, and the names of what is not.

    Of an object from names to values only the impossible ones are left out.
    """
    if _is_of(value, declared):
        return value, []
    if name in ENGINES and isinstance(value, dict):
        return _possible_group(name, value)
    plain, _ = plain_type(declared)
    if not isinstance(value, dict) or get_origin(plain) is not dict:
        return None, [name]
    kind = get_args(plain)[1]
    kept = {key: item for key, item in value.items() if _is_of(item, kind)}
    return kept, [name, *(f"{name}.{key}" for key in value.keys() - kept.keys())]


def _possible_group(group: str, values: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Return what is possible of a group's fields, and the names of those that are not."""
    kept, wrong = {}, []
    for name, declared in _TYPES_OF[group].items():
        if name in values:
            possible, names = _possible(f"{group}.{name}", values[name], declared)
            wrong += names
            if not names or possible:
                kept[name] = possible
    return kept, wrong


def _is_of(value: object, declared: Any) -> bool:  # noqa: ANN401
    try:
        msgspec.convert(value, declared)
    # JSON may have half of a surrogate pair, which is no text.
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError):
        return False
    return True


# Values without which nothing is known of a run, and what a line is called where one cannot be.
_NEEDED = {"case_id": "without a case", "repetition": "with a repetition that is no number from 1"}
_IMPOSSIBLE = {
    "status": "with a status that is no word",
    **_NEEDED,
    "warmup": "with a warmup that is neither true nor false",
    "elapsed_s": "with a time (elapsed_s) that no run can take",
}


def _impossible_reason(record: Mapping[str, Any]) -> str:
    """Return why a record with an impossible value is none; empty when it is one all the same."""
    wrong = (why for name, why in _IMPOSSIBLE.items() if not _is_of(record.get(name), _TYPES[name]))
    return next(wrong, "")


def _missing_reason(record: Mapping[str, Any]) -> str:
    """Return what a run lacks to be one; empty when it lacks nothing, and for what is no run."""
    if record.get("case_id") == "":
        return _NEEDED["case_id"]
    if record.get("status") not in RUN_STATUSES:
        return ""
    return next((why for name, why in _NEEDED.items() if record.get(name) is None), "")


def _brief(record: Mapping[str, Any]) -> dict[str, str]:
    """Return a record's reasons, each once for the fields that a word stands for."""
    reasons: dict[str, str] = dict(record["unavailable"])
    for word, names in STANDS_FOR.items():
        # What is absent without a reason would get one by the word.
        if word in reasons or not all(name in reasons or name in record for name in names):
            continue
        shared = Counter(reasons[name] for name in names if name in reasons).most_common(1)
        if shared and shared[0][1] > 1:
            reasons = {
                name: why
                for name, why in reasons.items()
                if name not in names or why != shared[0][0]
            } | {word: shared[0][0]}
    told = {why for name, why in reasons.items() if not name.startswith("counters.")}
    # Of an event the field that counts it says as much.
    return {
        name: why
        for name, why in reasons.items()
        if not (name.startswith("counters.") and why in told)
    }


def _brief_count(count: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's count without what most events have: all of the time, on no core kind."""
    usual: dict[str, object] = {
        "kinds": [],
        "multiplexed": False,
        "running_ns": count.get("enabled_ns"),
    }
    return {name: value for name, value in count.items() if usual.get(name, ()) != value}


def _in_full(record: Mapping[str, Any]) -> dict[str, str]:
    """Return a record's reasons by the names of fields."""
    reasons: dict[str, str] = dict(record["unavailable"])
    for word, names in STANDS_FOR.items():
        if word in reasons and word not in NAMES:
            why = reasons.pop(word)
            reasons = {name: why for name in names if name not in record} | reasons
    return reasons
