"""A record as the line of a shard: what tells of progress first, and a checksum of it all.

A reader that needs only which runs were made can skip the counters, threads and reasons of
100 000 records. The checksum says whether the line is as it was written: a line with another one is
no record. Lines of older versions have none, and are read whole. Nothing is known beside the
records that could differ from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

# What a history is made of; the order of a JSON object's fields means nothing to other readers.
HEAD = (
    "schema", "study_digest", "node_id", "node_digest", "case_id", "program_digest", "repetition",
    "warmup", "status", "elapsed_s", "energy_pkg_j", "race_value", "race_seen",
    "temperature_reference_c",
)  # fmt: skip
CHECKSUM = "crc32"

# Inside a text the quotes would be escaped: where this stands, an object has this key.
_MARK = b',"' + CHECKSUM.encode() + b'":"'
_DIGITS = 8
_DECODER = json.JSONDecoder()


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return the line that holds a record; raises ValueError for what JSON cannot hold, as NaN."""
    first = {"schema": record["schema"]} | {name: record[name] for name in HEAD if name in record}
    head = _json(first)[:-1]
    rest = _json({name: value for name, value in record.items() if name not in HEAD})
    end = (b"," if len(rest) > len(b"{}") else b"") + rest[1:] + b"\n"
    return b'%b%b%08x"%b' % (head, _MARK, crc32(end, crc32(head)), end)


def is_as_written(line: bytes) -> bool | None:
    """Return whether a line has the checksum that it had when it was written; None without one."""
    at = line.find(_MARK)
    if at < 0:
        return None
    says = at + len(_MARK)
    rest = says + _DIGITS + 1
    return line[says:rest] == b'%08x"' % crc32(line[rest:], crc32(line[:at]))


def head_of(line: bytes) -> dict[str, Any] | None:
    """Return those fields of a line's record that HEAD names; None when it is to be read whole."""
    if not is_as_written(line):
        return None
    head = line[: line.find(_MARK)]
    try:
        text = str(head, "utf-8") + "}"
        fields, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) and end == len(text) else None


def _json(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
