"""The governors of a node alone, with a journal of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from configs.site import GovernorRule
from runners.node.topology import Core
from runners.settings.governor import Governors
from runners.settings.journal import Journal
from runners.settings.recovery import Restored
from runners.settings.saved import Saved

BY_PINSTUDY = GovernorRule()


class GovernorsAlone(Governors):
    """Switches governors as a study does that changes nothing else."""

    def __init__(
        self,
        root: Path,
        cores: Iterable[Core],
        rule: GovernorRule = BY_PINSTUDY,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._of_study = Saved(root, rule.restore or rule.set)
        super().__init__(root, cores, rule, environment or {}, self._of_study)

    @property
    def journal(self) -> Journal:
        """Where the settings from before are."""
        return self._of_study.journal

    def restore(self) -> Restored | None:
        """Put all settings back."""
        return self._of_study.restore()
