"""How long a race may take now: its study may have been given more, or less, since its last run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.beside_files import read_limited
from base.structure import InvalidError
from configs.repetitions import Race, RepetitionsKind
from configs.schema.document import parse_yaml
from runners.study.machine import STUDY_FILE


def with_limits_of(folder: Path, rule: Race) -> Race:
    """Return the rule of the last record with `within` and `runs` of the study beside the records.

    The rule as it is, where there is no such file, or it tells of another race.
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
