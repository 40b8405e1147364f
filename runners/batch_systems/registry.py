"""The batch systems that pinstudy knows: `configs.site.BATCH_SYSTEMS`, each a module here."""

from __future__ import annotations

from importlib import import_module

from base.errors import UserError
from base.text import unknown_word
from configs.site import BATCH_SYSTEMS
from runners.batch_systems.native import NativeSystem


def open_system(name: str) -> NativeSystem:
    """Return the batch system of that name; raises UserError when there is none."""
    if name not in BATCH_SYSTEMS:
        raise UserError(unknown_word("batch system", name, BATCH_SYSTEMS))
    system: NativeSystem = import_module(f"runners.batch_systems.{name}").SYSTEM
    return system
