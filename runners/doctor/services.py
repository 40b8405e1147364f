"""Which batch systems answer here, and whether this node can run virtual machines.

A /dev/kvm that can be opened is not enough: the CPU must support virtualisation, too.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from base.command import output_of
from base.errors import UserError
from runners.doctor.capability import AskedNode, Capability
from runners.host.software import for_guests
from runners.vm.host import find_guest_host

_BATCH = "batch"
# Clients wait for minutes for a controller that is down; one that is up answers at once.
LIMIT_S = 3.0
_MAX_CHARACTERS = 80
_GUESTS = "virtual-machines"
KVM = "/dev/kvm"
_INSTALL = "install qemu-system-x86 (Debian, Ubuntu) or qemu-system-x86-core (Fedora)"
_INSTALL_ARM = "install qemu-system-arm (Debian, Ubuntu) or qemu-system-aarch64-core (Fedora)"


@dataclass(frozen=True)
class _System:
    """A batch system: its submit command, and the commands for its version and its controller.

    `version` is the version's pattern in the output: other systems have a `qsub`, too.
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


def probe_batch(_node: AskedNode) -> Iterator[Capability]:
    """Report each batch system whose commands are on the PATH, or that there is none."""
    here = [system for system in _SYSTEMS if shutil.which(system.submit)]
    if not here:
        commands = ", ".join(system.submit for system in _SYSTEMS)
        reason = f"no commands of Slurm, PBS, LSF or Flux on the PATH ({commands})"
        yield Capability(_BATCH, "missing", reason)
    for system in here:
        yield _of(system)


def _of(system: _System) -> Capability:
    name = f"{_BATCH}:{system.name}"
    said = output_of(system.ask_version, limit_s=LIMIT_S, with_stderr=True)
    version = re.search(system.version, said or "", re.IGNORECASE)
    if version is None:
        shown = " ".join((said or "nothing").split())[:_MAX_CHARACTERS]
        reason = f"`{' '.join(system.ask_version)}` tells no version of it ({shown})"
        return Capability(name, "missing", reason)
    asked = f"`{' '.join(system.ping)}`"
    if output_of(system.ping, limit_s=LIMIT_S) is None:
        reason = f"version {version[1]}; {asked} fails or does not answer in {LIMIT_S:g} s"
        return Capability(name, "limited", reason, "ask its administrator, or try a login node")
    return Capability(name, "ok", f"version {version[1]}; {asked} answers")


def probe_virtual_machines(node: AskedNode) -> Iterator[Capability]:
    """Tell whether QEMU is installed, and whether it may use hardware virtualisation."""
    machine = platform.machine()
    qemu = shutil.which(f"qemu-system-{machine}")
    slow, grant = without_kvm(node)
    if qemu is None:
        install = _INSTALL_ARM if machine == "aarch64" else _INSTALL
        reason = f"qemu-system-{machine} is not installed"
        yield Capability(_GUESTS, "missing", f"{reason}; {slow}" if slow else reason, install)
    elif lacking := _lacking(slow, node.root):
        yield Capability(_GUESTS, "missing", lacking, for_guests().grant)
    elif slow:
        yield Capability(_GUESTS, "limited", f"{qemu}, emulating every instruction: {slow}", grant)
    else:
        yield Capability(_GUESTS, "ok", f"{qemu} with {KVM}")


def _lacking(slow: str, root: Path) -> str:
    """Return what else guests need and this node lacks; empty when it has everything."""
    try:
        find_guest_host(slow, root)
    except UserError as error:
        return str(error).partition("; ")[0]
    return ""


def without_kvm(node: AskedNode) -> tuple[str, str]:
    """Return why hardware virtualisation cannot be used and what helps; empty when it can."""
    flags = node.block.get("flags", "").split()
    # KVM may open without the CPU's support (kvm-pvm), but then it runs no ordinary kernel.
    if "flags" in node.block and not {"vmx", "svm"}.intersection(flags):
        if node.guest:
            reason = "this guest has no nested virtualisation (no vmx or svm in /proc/cpuinfo)"
            return (
                reason,
                "allow it on the host (QEMU: -cpu host, and kvm_intel or kvm_amd nested=1)",
            )
        return "no vmx or svm in /proc/cpuinfo", "enable virtualisation in the firmware"
    if not os.path.exists(KVM):  # noqa: PTH110 - a name beside os.access
        # On ARM KVM is no module: it exists when the firmware starts the kernel at EL2.
        load = "sudo modprobe kvm_intel || sudo modprobe kvm_amd" if flags else ""
        return f"{KVM} is missing", load
    if not os.access(KVM, os.R_OK | os.W_OK):
        return f"no permission to use {KVM}", 'sudo usermod -aG kvm "$USER", then log in again'
    return "", ""
