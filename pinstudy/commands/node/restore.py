"""`pinstudy restore`: put back the settings that studies and `pinstudy tune` have changed."""

from __future__ import annotations

import os
from pathlib import Path

import click

from pinstudy.options import SYSROOT
from pinstudy.output import say


@click.command("restore")
@SYSROOT
@click.option(
    "--forget",
    is_flag=True,
    help="Give up what cannot be put back, such as the governor of a CPU that is gone.",
)
def command(sysroot: Path, forget: bool) -> None:
    """Put back governors, frequency limits, turbo and kernel settings as they were.

    First what a study that was killed has left, then what `pinstudy tune` has changed. Every
    setting is read back; exit status 1 when one could not be verified. Its journal then stays.
    """
    from base.errors import StudyError
    from base.text import plural
    from runners.host.lock import NodeLock
    from runners.settings.journal import STUDY, TUNE, open_journal, state_folder
    from runners.settings.recovery import others_leftovers, restore, told_problems, told_reboot

    folder = state_folder(sysroot, os.environ)
    failed = False
    with NodeLock(sysroot):
        both = [open_journal(sysroot, purpose, os.environ) for purpose in (STUDY, TUNE)]
        journals = [journal for journal in both if journal.exists()]
        for journal in journals:
            done = restore(sysroot, journal)
            if done is None:
                continue
            if done.rebooted:
                say(told_reboot(done.entry))
            elif not done.problems:
                count = plural(len(done.entry.settings), "setting")
                say(f"put back and read back: {count}, changed by {done.entry.told}")
            elif forget:
                for problem in done.problems.values():
                    say(f"given up: {problem}")
                journal.remove()
            else:
                failed = True
                say(told_problems(journal, done.entry, done.problems), err=True)
    if lines := others_leftovers(sysroot, folder):
        failed = True
        say("\n".join(lines), err=True)
    elif not journals:
        say(f"nothing to put back (no journal in {folder})")
    if failed:
        raise StudyError("not every setting is as it was; the lines above say which")
