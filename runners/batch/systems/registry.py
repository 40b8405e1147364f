"""The batch systems by their names."""

from __future__ import annotations

from base.errors import UserError
from base.text import unknown_word
from runners.batch.systems.flux import Flux
from runners.batch.systems.interface import BatchSystem
from runners.batch.systems.lsf import Lsf
from runners.batch.systems.pbs import Pbs
from runners.batch.systems.slurm import Slurm

_SYSTEMS: dict[str, type[BatchSystem]] = {"slurm": Slurm, "pbs": Pbs, "lsf": Lsf, "flux": Flux}


def open_system(name: str) -> BatchSystem:
    """Return the batch system of that name; raises UserError when there is none."""
    if name not in _SYSTEMS:
        raise UserError(unknown_word("batch system", name, _SYSTEMS))
    return _SYSTEMS[name]()
