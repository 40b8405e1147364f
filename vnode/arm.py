"""The shape of an arm64 node with big and LITTLE cores, as vnode/shape.py has it for x86-64.

It needs no test module: the device tree alone makes its cores differ.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base import ROOT
from vnode.device_tree import Cluster, write

IMAGE = ROOT / "build" / "vnode-arm"
_MACHINE = "virt,gic-version=3"


@dataclass(frozen=True)
class BigLittle:
    """Counts of Cortex-A76 (`p`) and Cortex-A55 cores (`e`), each kind a cluster."""

    p: int = 2
    e: int = 2

    qemu = "qemu-system-aarch64"
    image = IMAGE
    kernel_line = (
        f"console=ttyAMA0 mitigations=off pinstudy.start=/start-arm.sh pinstudy.checkout={ROOT}"
    )

    def kinds(self) -> dict[str, tuple[int, ...]]:
        """Return each kind's CPUs; the big ones come first."""
        cpus = tuple(range(self.p + self.e))
        return {"P": cpus[: self.p], "E": cpus[self.p :], "LP-E": ()}

    def clusters(self) -> tuple[Cluster, ...]:
        """Return the clusters of the device tree."""
        kinds = self.kinds()
        return (
            Cluster("cortex-a76", kinds["P"], 1024, 1_000_000_000, 2_800_000_000),
            Cluster("cortex-a55", kinds["E"], 500, 600_000_000, 1_800_000_000),
        )

    def boot_options(self, folder: Path) -> list[str]:
        """Return QEMU's options for machine, CPUs and kernel.

        The device tree is written into `folder`.
        """
        own, changed = folder / "own.dtb", folder / "node.dtb"
        # QEMU 7.2 cannot mix two types of cores in one machine: all are the big one.
        cpus = ["-cpu", "cortex-a76", "-smp", str(self.p + self.e)]
        # QEMU writes the file and ends.
        dump = [self.qemu, "-M", f"{_MACHINE},dumpdtb={own}", *cpus, "-display", "none"]
        subprocess.run(dump, check=True, capture_output=True)
        write(own.read_bytes(), self.clusters(), changed)
        return [
            *("-M", _MACHINE, *cpus, "-dtb", str(changed)),
            *("-kernel", str(IMAGE / "vmlinuz"), "-initrd", str(IMAGE / "initramfs")),
        ]

    def shares(self) -> dict[str, Path]:
        """Return the folders that the guest mounts, by tag: its own root, and the checkout."""
        return {"hostroot": IMAGE / "tree", "checkout": ROOT}

    def module_parameters(self) -> list[str]:
        """Return no parameters: there is no test module."""
        return []

    def qemu_indices(self, kind: str) -> list[int]:
        """Return QEMU's numbers for a kind's CPUs: they are the kernel's."""
        return list(self.kinds()[kind])
