"""A site's own command that sets governors, where users may not write the kernel's files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from base.command import run
from base.cpulist import format_cpulist
from base.errors import UserError
from runners.host.privileges import starting_as
from runners.host.tree import Tree, Unavailable
from runners.node.cpufreq import policy_directories
from runners.settings.setting import Setting

# Such a command calls a daemon or sudo; one that takes longer hangs, or waits for a password.
LIMIT_S = 60.0


class SiteCommand:
    """Runs the command once per governor; replaces `{governor}` and `{cpus}` in its arguments."""

    def __init__(self, tree: Tree, arguments: Sequence[str], user: int | None = None) -> None:
        """`user` is the id of the user who runs it, by default that of this process."""
        self._tree = tree
        self._arguments = tuple(arguments)
        self._user = os.geteuid() if user is None else user

    def __call__(self, settings: Sequence[Setting]) -> dict[str, Unavailable]:
        """Set these governors; return by path why the command failed."""
        failed: dict[str, Unavailable] = {}
        for governor in dict.fromkeys(setting.value for setting in settings):
            paths = [setting.path for setting in settings if setting.value == governor]
            problem = self._run(governor, format_cpulist(self._cpus(paths)))
            failed |= {} if problem is None else dict.fromkeys(paths, problem)
        return failed

    def _cpus(self, paths: Sequence[str]) -> list[int]:
        folders = {path.rpartition("/")[0] for path in paths}
        directories = policy_directories(self._tree)
        return sorted(cpu for cpu, directory in directories.items() if directory in folders)

    def _run(self, governor: str, cpus: str) -> Unavailable | None:
        command = [
            argument.replace("{governor}", governor).replace("{cpus}", cpus)
            for argument in self._arguments
        ]
        try:
            with starting_as(self._user) as rights:
                done = run(command, LIMIT_S, **rights)
        except UserError as error:
            return Unavailable(f"`{shlex.join(command)}` cannot be started: {error}")
        return Unavailable(done.error) if done.failed else None
