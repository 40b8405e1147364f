"""Find the baseline of each case: in its table, under its governor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.fields import TABLE_KEYS
from analysis.verdict.phrases import leaves_all
from base.errors import UserError
from base.text import unknown_word

# A baseline has the same values of these as the cases that are compared with it.
_GUEST = ("engine", "vm_cpus", "vm_memory_mib", "vm_accelerator")
SHARED = ("study", "node_id", "table_number", *TABLE_KEYS, "governor", *_GUEST)


def baselines_of(
    cases: Sequence[Mapping[str, Any]], mapping: str | None = None
) -> dict[str, Mapping[str, Any]]:
    """Return the baseline of each case that has one, by case_id.

    A baseline leaves its threads, and a guest's virtual CPUs, to the OS scheduler, or has the
    mapping that is named. Of several (a mapping that was run on two sets of CPUs) the one with most
    runs is taken. Raises UserError when no case has the named mapping.
    """
    known = [str(case["mapping"]) for case in cases]
    if mapping is not None and mapping not in known:
        raise UserError(unknown_word("mapping", mapping, dict.fromkeys(known), " in these results"))
    found: dict[tuple[object, ...], Mapping[str, Any]] = {}
    for case in cases:
        key = _shared(case)
        if _is_baseline(case, mapping) and _runs(case) > _runs(found.get(key, {"n": 0})):
            found[key] = case
    return {case["case_id"]: found[_shared(case)] for case in cases if _shared(case) in found}


def _shared(case: Mapping[str, Any]) -> tuple[object, ...]:
    # NaN and None are both "none", and NaN is not even equal to itself.
    return tuple(None if case[key] != case[key] else case[key] for key in SHARED)


def _runs(case: Mapping[str, Any]) -> float:
    """Return how many runs a case has; one where a publication does not say how many."""
    return 1.0 if math.isnan(case["n"]) else float(case["n"])


def _is_baseline(case: Mapping[str, Any], mapping: str | None) -> bool:
    if mapping is not None:
        return bool(case["mapping"] == mapping)
    return leaves_all(case)
