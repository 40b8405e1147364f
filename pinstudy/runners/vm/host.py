"""Finds what guests need on this node: QEMU, KVM or emulation, a kernel, busybox."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base import ROOT
from pinstudy.base.errors import UserError
from pinstudy.base.reading import known
from pinstudy.runners.host.software import for_guests
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.facts import memory_bytes
from pinstudy.runners.vm.boot_image import archive, lacking
from pinstudy.runners.vm.vmlinux import vmlinux

QEMU = "qemu-system-x86_64"
# `make vm` unpacks a kernel here where the node's own cannot be used.
_FETCHED = ROOT / "build" / "guest" / "tree"
INIT = Path(__file__).with_name("guest") / "init"
START = Path(__file__).with_name("guest") / "start.sh"


@dataclass(frozen=True)
class Kernel:
    """A kernel's image and the folder of its modules."""

    image: Path
    modules: Path


@dataclass(frozen=True)
class GuestHost:
    """What guests are made of; `emulated` is why QEMU emulates them, empty where KVM runs them."""

    qemu: str
    kernel: Kernel
    busybox: str
    emulated: str

    @property
    def accelerator(self) -> str:
        """QEMU's word: `kvm`, or `tcg` for emulation."""
        return "tcg" if self.emulated else "kvm"

    def boot_files(self) -> tuple[bytes, bytes]:
        """Return a guest's kernel and initramfs.

        Raises UserError when the kernel cannot be read or lacks a module.
        """
        try:
            image = self.kernel.image.read_bytes()
            # Under emulation the kernel's own decompression takes seconds.
            kernel = vmlinux(image) if self.emulated else image
            return kernel, archive(self.kernel.modules, Path(self.busybox), INIT)
        except (OSError, LookupError, ValueError) as error:
            remedy = for_guests().sentence
            raise UserError(
                f"{self.kernel.image}: cannot be booted in a guest: {error}; {remedy}"
            ) from error


def find_guest_host(without_kvm: str, root: Path = Path("/")) -> GuestHost:
    """Return what guests are made of here; `without_kvm` is why KVM cannot be used, or empty.

    The node's own kernel is looked for below `root`. Raises UserError naming the first thing that
    is missing.
    """
    if platform.machine() != "x86_64":
        raise UserError(f"engine vm: guests are x86-64 ones so far, and not {platform.machine()}")
    for path in (str(ROOT), sys.executable):
        # Both are on the kernel's command line, which is read word by word.
        if any(blank in path for blank in " \t"):
            raise UserError(f"{path}: guests cannot start from a path with blanks; move it")
    qemu, busybox = _tool(QEMU), _tool("busybox")
    return GuestHost(qemu, find_kernel(root), busybox, without_kvm)


def check_memory(wanted_mib: int, root: Path) -> None:
    """Raise UserError when a guest of this size does not fit into the memory that is available.

    MemAvailable is what the kernel could give without swapping (proc_meminfo(5)).
    """
    available = known(memory_bytes(Tree(root), "MemAvailable"))
    if available is not None and available >> 20 < wanted_mib:
        raise UserError(
            f"a guest of {wanted_mib} MiB does not fit into the {available >> 20} MiB of memory "
            "that are available; give the study's vm less memory"
        )


def find_kernel(root: Path) -> Kernel:
    """Return the first kernel that a guest can boot; raises UserError without one."""
    closed = None
    for kernel in _candidates(root):
        with contextlib.suppress(OSError):
            if not kernel.image.exists() or lacking(kernel.modules):
                continue
            if os.access(kernel.image, os.R_OK, effective_ids=True):
                return kernel
            closed = closed or kernel.image
    if closed:
        # As on Ubuntu.
        raise UserError(f"engine vm: {closed} may not be read; sudo chmod a+r {closed}")
    raise _missing("a kernel that guests can boot")


def _tool(name: str) -> str:
    if path := shutil.which(name):
        return path
    raise _missing(name)


def _missing(need: str) -> UserError:
    return UserError(f"engine vm: {need} is missing; {for_guests().sentence}")


def _candidates(root: Path) -> Iterator[Kernel]:
    """Yield the kernels that there may be, the node's own first."""
    release = platform.release()
    modules = root / "lib/modules" / release
    yield Kernel(root / f"boot/vmlinuz-{release}", modules)
    yield Kernel(modules / "vmlinuz", modules)
    for image in sorted((_FETCHED / "boot").glob("vmlinuz-*")):
        for library in ("lib", "usr/lib"):
            version = image.name.removeprefix("vmlinuz-")
            yield Kernel(image, _FETCHED / library / "modules" / version)


if __name__ == "__main__":
    # vnode/images.sh needs to know whether there is a kernel that guests can boot.
    find_kernel(Path("/"))
