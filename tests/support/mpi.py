"""Programs of MPI for tests: `ranks SECONDS [FAILING [LOOKS]]` of ranks.c, for MPIs found here."""

from __future__ import annotations

from pathlib import Path

from pinstudy.runners.host.software import find_mpi
from pinstudy.runners.plan.mpi import ROOT_VARIABLES
from tests.support.programs import compiled
from tests.support.tools import missing, need_tool

SOURCE = Path(__file__).with_name("ranks.c")
MPIS = ("openmpi", "mpich")
# As root Open MPI starts nothing without them.
ALLOW_ROOT = dict.fromkeys(ROOT_VARIABLES, "1")


def need_mpi(mpi: str) -> None:
    """Skip the calling test, or fail it in CI, where this MPI is not installed."""
    need_tool(_compiler(mpi))
    if mpi not in find_mpi():
        missing(f"the launcher of {mpi} is missing")


def build_ranks(mpi: str) -> Path:
    """Build the program with this MPI; return its path."""
    return compiled(SOURCE, need_tool(_compiler(mpi)), "-O1", "-fopenmp")


def _compiler(mpi: str) -> str:
    return f"mpicc.{mpi}"
