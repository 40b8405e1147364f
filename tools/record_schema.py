"""The JSON schema of a record, for those who read records with programs of their own.

`python -m tools.record_schema [FILE]` writes it, by default beside that of studies.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.json import schema

from pinstudy.base.files import write_atomically
from pinstudy.configs.library import CONFIGS
from pinstudy.runners.records.record import ENGINES, Placement, Record
from tools.study_schema import meanings

SCHEMA = CONFIGS / "record.schema.json"


def write_schema(path: Path = SCHEMA) -> None:
    """Write the JSON Schema (draft 2020-12) of a line of a shard."""
    described = schema(Record)
    tables: tuple[type[Struct], ...] = (Record, Placement, *ENGINES.values())
    for table in tables:
        properties = described["$defs"][table.__name__]["properties"]
        for name, meaning in meanings(table).items():
            properties[name]["description"] = meaning.text
    text = json.dumps(described, indent=1, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


if __name__ == "__main__":
    write_schema(*map(Path, sys.argv[1:]))
