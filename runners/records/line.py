"""A record as the line of a shard: the fields of progress first, and a checksum of the whole line.

A reader that needs only which runs were made can skip the counters, threads and reasons of
100 000 records. A line whose checksum differs was changed since it was written, and is no record.
Lines of older versions have no checksum and are read whole. There is no separate index that could
differ from the records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

# The fields of a study's history; other readers ignore the order of a JSON object's fields.
HEAD = (
    "schema", "study_digest", "node_id", "node_digest", "case_id", "program_digest", "repetition",
    "warmup", "status", "elapsed_s", "energy_pkg_j", "race_value", "race_seen",
    "temperature_reference_c",
)  # fmt: skip
CHECKSUM = "crc32"

# In a JSON string the quotes would be escaped, so this is always the key of an object.
_MARK = b',"' + CHECKSUM.encode() + b'":"'
_DIGITS = 8


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record's line; raises ValueError for values that JSON cannot hold, such as NaN."""
    first = {"schema": record["schema"]} | {name: record[name] for name in HEAD if name in record}
    head = _json(first)[:-1]
    rest = _json({name: value for name, value in record.items() if name not in HEAD})
    end = (b"," if len(rest) > len(b"{}") else b"") + rest[1:] + b"\n"
    return b'%b%b%08x"%b' % (head, _MARK, crc32(end, crc32(head)), end)


def is_as_written(line: bytes) -> bool | None:
    """Return whether a line's checksum agrees with its content; None without a checksum."""
    at = line.find(_MARK)
    if at < 0:
        return None
    says = at + len(_MARK)
    rest = says + _DIGITS + 1
    return line[says:rest] == b'%08x"' % crc32(line[rest:], crc32(line[:at]))


def head_of(line: bytes) -> dict[str, Any] | None:
    """Return the fields of a line's record that HEAD names; None if it must be read whole."""
    if not is_as_written(line):
        return None
    head = line[: line.find(_MARK)]
    try:
        fields = json.loads(str(head, "utf-8") + "}")
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _json(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
