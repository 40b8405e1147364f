"""The batch systems by their names."""

from __future__ import annotations

from base.errors import UserError
from base.text import unknown_word
from configs.model import BATCH_SYSTEMS
from runners.batch.flux import Flux
from runners.batch.lsf import Lsf
from runners.batch.pbs import Pbs
from runners.batch.slurm import Slurm
from runners.batch.system import BatchSystem

_SYSTEMS: dict[str, type[BatchSystem]] = {
    "slurm": Slurm,
    "pbs": Pbs,
    "lsf": Lsf,
    "flux": Flux,
}


def open_system(name: str) -> BatchSystem:
    """Return the batch system of a name; raises UserError for a word not of BATCH_SYSTEMS."""
    if name not in _SYSTEMS:
        raise UserError(unknown_word("batch system", name, BATCH_SYSTEMS))
    return _SYSTEMS[name]()
