"""Which batch systems' commands are here, of which version, and whether the system answers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from base.command import ask
from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import NOT_TRIED, Capability

NAME = "batch"
# A controller that is away lets its clients wait for minutes; one that is there answers at once.
LIMIT_S = 3.0
_MAX_CHARACTERS = 80


@dataclass(frozen=True)
class _System:
    """A batch system: its submitting command, and what asks its version and its controller.

    `version` finds the version in what the command says: other systems have a `qsub`, too.
    """

    name: str
    submit: str
    ask_version: tuple[str, ...]
    version: str
    ping: tuple[str, ...]


# scontrol(1), "ping"; qstat(1B) of PBS Professional, "-B"; lsid(1); flux-getattr(1).
_SYSTEMS = (
    _System("slurm", "sbatch", ("sbatch", "--version"), r"slurm\S* (\S+)", ("scontrol", "ping")),
    _System("pbs", "qsub", ("qsub", "--version"), r"pbs_version\s*=\s*(\S+)", ("qstat", "-B")),
    _System("lsf", "bsub", ("bsub", "-V"), r"LSF\D*([0-9][0-9.]*)", ("lsid",)),
    _System("flux", "flux", ("flux", "version"), r"commands:\s*(\S+)", ("flux", "getattr", "size")),
)


def probe_batch(node: AskedNode) -> Iterator[Capability]:
    """Tell of each batch system whose commands are on the PATH, or that there is none."""
    if not node.live:
        yield Capability(NAME, "missing", NOT_TRIED)
        return
    here = [system for system in _SYSTEMS if shutil.which(system.submit)]
    if not here:
        commands = ", ".join(system.submit for system in _SYSTEMS)
        reason = f"no commands of Slurm, PBS, LSF or Flux on the PATH ({commands})"
        yield Capability(NAME, "missing", reason)
    for system in here:
        yield _of(system)


def _of(system: _System) -> Capability:
    name = f"{NAME}:{system.name}"
    said = ask(system.ask_version, limit_s=LIMIT_S, with_stderr=True)
    version = re.search(system.version, said or "", re.IGNORECASE)
    if version is None:
        shown = " ".join((said or "nothing").split())[:_MAX_CHARACTERS]
        reason = f"`{' '.join(system.ask_version)}` tells no version of it ({shown})"
        return Capability(name, "missing", reason)
    asked = f"`{' '.join(system.ping)}`"
    if ask(system.ping, limit_s=LIMIT_S) is None:
        reason = f"version {version[1]}; {asked} fails or does not answer in {LIMIT_S:g} s"
        return Capability(name, "limited", reason, "ask its administrator, or try a login node")
    return Capability(name, "ok", f"version {version[1]}; {asked} answers")
