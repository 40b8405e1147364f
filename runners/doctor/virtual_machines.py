"""Whether this node can run virtual machines: QEMU, and /dev/kvm that does more than open."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from base.errors import UserError
from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import NOT_TRIED, Capability
from runners.host.software import for_guests
from runners.vm.host import find_guest_host

NAME = "virtual-machines"
KVM = "/dev/kvm"
_INSTALL = "install qemu-system-x86 (Debian, Ubuntu) or qemu-system-x86-core (Fedora)"
_INSTALL_ARM = "install qemu-system-arm (Debian, Ubuntu) or qemu-system-aarch64-core (Fedora)"


def probe_virtual_machines(node: AskedNode) -> Iterator[Capability]:
    """Tell whether QEMU is installed, and whether it may use hardware virtualisation."""
    if not node.live:
        yield Capability(NAME, "missing", NOT_TRIED)
        return
    machine = platform.machine()
    qemu = shutil.which(f"qemu-system-{machine}")
    slow, grant = without_kvm(node)
    if qemu is None:
        install = _INSTALL_ARM if machine == "aarch64" else _INSTALL
        reason = f"qemu-system-{machine} is not installed"
        yield Capability(NAME, "missing", f"{reason}; {slow}" if slow else reason, install)
    elif lacking := _lacking(slow, node.root):
        yield Capability(NAME, "missing", lacking, for_guests().grant)
    elif slow:
        yield Capability(NAME, "limited", f"{qemu}, emulating every instruction: {slow}", grant)
    else:
        yield Capability(NAME, "ok", f"{qemu} with {KVM}")


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
    # KVM may open without the CPU's help (kvm-pvm does), and then runs no ordinary kernel.
    if "flags" in node.block and not {"vmx", "svm"}.intersection(flags):
        if node.guest:
            reason = "this guest has no nested virtualisation (no vmx or svm in /proc/cpuinfo)"
            return (
                reason,
                "allow it on the host (QEMU: -cpu host, and kvm_intel or kvm_amd nested=1)",
            )
        return "no vmx or svm in /proc/cpuinfo", "enable virtualisation in the firmware"
    if not os.path.exists(KVM):  # noqa: PTH110 - a name beside os.access
        # ARM's is no module: it is there when the firmware starts the kernel at EL2.
        load = "sudo modprobe kvm_intel || sudo modprobe kvm_amd" if flags else ""
        return f"{KVM} is missing", load
    if not os.access(KVM, os.R_OK | os.W_OK):
        return f"no permission to use {KVM}", 'sudo usermod -aG kvm "$USER", then log in again'
    return "", ""
