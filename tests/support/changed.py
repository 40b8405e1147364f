"""Contents of JSON files with another value somewhere."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

# What any program may write into a file.
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


def with_value(content: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a content with this value at a path, such as `pairs.0.cpus`."""
    changed = copy.deepcopy(content)
    *folders, name = (int(key) if key.isdigit() else key for key in path.split("."))
    inner: Any = changed
    for key in folders:
        inner = inner[key]
    inner[name] = value
    return changed
