"""The governors of a node alone, with a journal of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pinstudy.configs.site import GovernorRule
from pinstudy.runners.node.topology import Core
from pinstudy.runners.settings.journal import Journal
from pinstudy.runners.settings.node_settings import FrequencyScaling
from pinstudy.runners.settings.recovery import Restored, Saved

BY_PINSTUDY = GovernorRule()


class GovernorsAlone:
    """Switches governors as a study does that changes nothing else."""

    def __init__(
        self,
        root: Path,
        cores: Iterable[Core],
        rule: GovernorRule = BY_PINSTUDY,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._of_study = Saved(root, rule.restore or rule.set)
        self._scaling = FrequencyScaling(root, cores, rule, environment or {}, self._of_study)

    def problem(self, governor: str, cpus: Sequence[int]) -> str | None:
        """Return why a governor cannot be in force on these CPUs."""
        return self._scaling.problem(_wanted(governor), cpus)

    def apply(self, governor: str, cpus: Sequence[int]) -> str | None:
        """Put a governor in force; return why that failed."""
        return self._scaling.apply(_wanted(governor), cpus)

    @property
    def journal(self) -> Journal:
        """Where the settings from before are."""
        return self._of_study.journal

    def restore(self) -> Restored | None:
        """Put all settings back."""
        return self._of_study.restore()


def _wanted(governor: str) -> dict[str, str]:
    return {} if governor == "current" else {"governor": governor}
