"""Kernels and modules made by hand: what a distribution's have of them, and nothing that runs."""

from __future__ import annotations

import gzip
import lzma
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.tools import need_tool

# An ELF file's first bytes, and enough behind them that every compressor has something to do.
KERNEL = b"\x7fELF\x02\x01\x01" + bytes(9) + b"a kernel that nobody boots " * 400


def bzimage(payload: bytes, setup_sectors: int = 4, offset: int = 0x2C4) -> bytes:
    """Return a bzImage by Linux Documentation/arch/x86/boot.rst, `payload` somewhere in its code.

    0 for `setup_sectors` means 4, as in images of old.
    """
    head = bytearray(512 * ((setup_sectors or 4) + 1))
    head[0x1F1] = setup_sectors
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, offset, len(payload))
    return bytes(head) + b"\xcc" * offset + payload + b"what stands behind the payload"


def _by(command: str, *options: str) -> Callable[[bytes], bytes]:
    def compress(data: bytes) -> bytes:
        tool = need_tool(command)
        return subprocess.run(
            [tool, *options], input=data, stdout=subprocess.PIPE, check=True
        ).stdout

    return compress


def _with_length(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Append the length without compression, as the kernel's scripts/Makefile.lib does."""
    return lambda data: compress(data) + struct.pack("<I", len(data))


def _xz(data: bytes) -> bytes:
    # The kernel's own call: CRC32, and a filter for jumps of x86 before LZMA2.
    filters = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6}]
    return lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)


# As distributions compress kernels, and modules.
KERNEL_COMPRESSIONS = {
    "xz": _with_length(_xz),
    # gzip has the length at its end already.
    "gzip": gzip.compress,
    "zstd": _with_length(_by("zstd", "-c", "-q", "-19")),
    "lz4": _with_length(_by("lz4", "-l", "-c", "-q")),
}
MODULE_COMPRESSIONS = {
    "": lambda data: data,
    ".xz": lambda data: lzma.compress(data, check=lzma.CHECK_CRC32),
    ".gz": gzip.compress,
    ".zst": _by("zstd", "-c", "-q"),
}


def module(name: str, *needs: str) -> bytes:
    """Return what a module says of itself (.modinfo), between the bytes of an object file."""
    said = f"license=GPL\0depends={','.join(needs)}\0retpoline=Y\0name={name}\0"
    return b"\x7fELF" + bytes(60) + said.encode() + bytes(64)


def module_tree(folder: Path, modules: dict[str, bytes], built_in: tuple[str, ...] = ()) -> Path:
    """Write a kernel's modules by path below `folder`, and the list of those that it has inside."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        path = folder / "kernel" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    lines = "".join(f"kernel/{path}\n" for path in built_in)
    (folder / "modules.builtin").write_text(lines)
    return folder


# The modules that a guest boots from and what they need, as Debian's kernel 6.1 has them.
NEEDS = {
    "drivers/virtio/virtio.ko": (),
    "drivers/virtio/virtio_ring.ko": ("virtio",),
    "drivers/virtio/virtio_pci_legacy_dev.ko": (),
    "drivers/virtio/virtio_pci_modern_dev.ko": (),
    "drivers/virtio/virtio_pci.ko": (
        "virtio_ring",
        "virtio",
        "virtio_pci_legacy_dev",
        "virtio_pci_modern_dev",
    ),
    "net/9p/9pnet.ko": (),
    "net/9p/9pnet_virtio.ko": ("9pnet", "virtio", "virtio_ring"),
    "fs/netfs/netfs.ko": (),
    "fs/fscache/fscache.ko": ("netfs",),
    "fs/9p/9p.ko": ("9pnet", "fscache", "netfs"),
    "fs/overlayfs/overlay.ko": (),
    "drivers/char/virtio_console.ko": ("virtio", "virtio_ring"),
    "sound/soundcore.ko": (),
}


def debian_tree(folder: Path, suffix: str = "") -> Path:
    """Write the modules of a Debian kernel, compressed as `suffix` says."""
    compress = MODULE_COMPRESSIONS[suffix]
    modules = {
        path + suffix: compress(module(Path(path).stem, *needs)) for path, needs in NEEDS.items()
    }
    return module_tree(folder, modules)
