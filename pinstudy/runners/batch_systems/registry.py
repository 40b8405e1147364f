"""All batch systems: `pinstudy.configs.site.BATCH_SYSTEMS`, each a module, and a site's own."""

from __future__ import annotations

from importlib import import_module

from pinstudy.base.errors import UserError
from pinstudy.base.text import unknown_word
from pinstudy.configs.site import BATCH_SYSTEMS, Queue, Site
from pinstudy.runners.batch_systems.interface import BatchSystem
from pinstudy.runners.batch_systems.native import NativeSystem

# The name, in a submission, of a batch system that is a site's own.
COMMANDS = "commands"


def open_system(name: str) -> NativeSystem:
    """Return the batch system of that name; raises UserError when there is none."""
    if name not in BATCH_SYSTEMS:
        raise UserError(unknown_word("batch system", name, BATCH_SYSTEMS))
    system: NativeSystem = import_module(f"pinstudy.runners.batch_systems.{name}").SYSTEM
    return system


def queue_of(site: Site) -> Queue:
    """Return the queue of a site; raises UserError when it has none."""
    if site.queue is None:
        raise UserError(
            f"site {site.name} has no batch system: its file lacks batch_system; expected "
            f"{', '.join(BATCH_SYSTEMS)} or a table of commands; see docs/batch.md"
        )
    return site.queue


def system_of(site: Site) -> BatchSystem:
    """Return the batch system of a site; raises UserError when it has none."""
    # Imported here: YAML is slow to import, and only a site's own commands need it.
    from pinstudy.runners.batch_systems.commands import Commands

    system = queue_of(site).system
    return open_system(system) if isinstance(system, str) else Commands(site, system)
