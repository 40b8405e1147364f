"""Baselines: the case of each configuration that others are compared with."""

from __future__ import annotations

from collections.abc import Sequence

from pinstudy.analysis.results.case import Case
from pinstudy.base.errors import UserError
from pinstudy.configs.mapping import unknown_mapping


def baselines_of(cases: Sequence[Case], mapping: str | None = None) -> dict[str, Case]:
    """Return the baseline of each case that has one, by case_id.

    A baseline leaves its threads, and a guest's virtual CPUs, to the OS scheduler, or has the
    mapping that is named. Of several under the first settings that have one (a mapping that was
    run on two sets of CPUs) the one with most runs is taken. Raises UserError when no case has the
    named mapping.
    """
    known = dict.fromkeys(case.key.mapping for case in cases)
    if mapping is not None and mapping not in known:
        raise UserError(unknown_mapping(mapping, known, " in these results"))
    by_configuration: dict[tuple[object, ...], Case] = {}
    for case in sorted(cases, key=lambda case: case.key.number):
        is_baseline = leaves_all(case) if mapping is None else case.key.mapping == mapping
        if not is_baseline or not _runs(case):
            continue
        first = by_configuration.setdefault(case.key.configuration, case)
        if case.key.setting_words == first.key.setting_words and _runs(case) > _runs(first):
            by_configuration[case.key.configuration] = case
    return {
        case.key.case_id: by_configuration[case.key.configuration]
        for case in cases
        if case.key.configuration in by_configuration
    }


def leaves_all(case: Case) -> bool:
    """Return whether a case leaves its threads, and a guest's virtual CPUs, to the OS scheduler."""
    placings = filter(None, (case.key.of_threads, case.key.of_vcpus))
    return all((of.selection, of.binding) == ("all", "none") for of in placings)


def _runs(case: Case) -> int:
    """Return how many runs a case has; one where a publication does not say how many."""
    return 1 if case.n is None else case.n
