"""Read the limits of a race from its study file, which may have changed since the last run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.beside_files import read_limited
from base.structure import InvalidError
from configs.document import parse_yaml
from configs.repetitions import Race, RepetitionsKind
from runners.study.machine import STUDY_FILE


def with_limits_of(folder: Path, rule: Race) -> Race:
    """Return a rule with the `within` and `runs` of the study file beside the records.

    Where there is no such file, or it describes another race, the rule stays as it is.
    """
    data = read_limited(folder / STUDY_FILE)
    study = None if data is None else parse_yaml(data, STUDY_FILE).value
    repetitions = study.get("repetitions") if isinstance(study, dict) else None
    try:
        now = RepetitionsKind().decode(repetitions).race
    except InvalidError:
        return rule
    if now is None or (now.of, now.higher) != (rule.of, rule.higher):
        return rule
    return replace(rule, within_s=now.within_s, runs=now.runs)
