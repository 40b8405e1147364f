"""Turbo: frequencies above the base.

intel_pstate has one file for the node, which holds 1 for off; other drivers have one that holds 1
for on, and amd-pstate one for each policy (Linux Documentation/admin-guide/pm/intel_pstate.rst,
cpufreq.rst "The boost file in sysfs", amd-pstate.rst).
"""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import OFF, ON
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import BOOST, NO_TURBO, POLICIES, read_turbo
from pinstudy.runners.settings.setting import WHOLE_NUMBER, Present, Setting, SettingFile

FILE = "boost"
FILES = (NO_TURBO, BOOST)
# Each of the node's files, with its texts for on and off.
TEXTS = {NO_TURBO: {ON: "0", OFF: "1"}, BOOST: {ON: "1", OFF: "0"}}
MISSING = f"turbo cannot be switched here: {' and '.join(FILES)} are missing"


class Turbo(Setting):
    """Whether frequencies above the base may be used, on all CPUs of the node."""

    name = "turbo"
    title = "turbo"
    paths = re.compile(
        rf"{POLICIES}/policy[0-9]{{1,5}}/{FILE}|{re.escape(NO_TURBO)}|{re.escape(BOOST)}", re.ASCII
    )
    texts = WHOLE_NUMBER
    scaling = True

    def read(self, now: Present) -> str | Unavailable:
        """Return ON or OFF; with policies that differ, OFF where any of them is off."""
        if (turbo := read_turbo(now.tree)) is not None:
            return ON if turbo else OFF
        texts = self._of_policies(now.tree)
        if not texts:
            return Unavailable(MISSING)
        return OFF if "0" in texts.values() else ON

    def impossible(self, now: Present, value: str) -> str | None:
        found = self.read(now)
        return found.reason if isinstance(found, Unavailable) else None

    def files(self, now: Present, value: str) -> list[SettingFile]:
        """Return the node's file, or those of its policies."""
        there = [path for path in FILES if isinstance(now.tree.text(path), str)]
        if there:
            return [SettingFile(path, TEXTS[path][value]) for path in there]
        return [SettingFile(path, TEXTS[BOOST][value]) for path in self._of_policies(now.tree)]

    @staticmethod
    def _of_policies(tree: Tree) -> dict[str, str]:
        paths = (
            f"{POLICIES}/policy{number}/{FILE}" for number in tree.numbered(POLICIES, "policy")
        )
        texts = {path: tree.text(path) for path in paths}
        return {path: text for path, text in texts.items() if isinstance(text, str)}
