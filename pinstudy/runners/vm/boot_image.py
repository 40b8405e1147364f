"""Makes a guest's initramfs: busybox, the kernel modules that it needs to boot, its init.

usage: python -m pinstudy.runners.vm.boot_image MODULE_TREE BUSYBOX INIT OUTPUT [MODULE...]

The archive is in the "newc" format of Linux Documentation/driver-api/early-userspace/
buffer-format.rst. It is not compressed, because it is read from memory.
"""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from pinstudy.base.files import write_whole
from pinstudy.runners.vm.vmlinux import decompressed

# The root file system is the host's over 9p, with an overlay; the agent's line is a port of
# virtio-console.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")
FOLDERS = ("dev", "proc", "sys", "lower", "upper", "root", "modules")


def archive(module_tree: Path, busybox: Path, init: Path, more: Sequence[str] = ()) -> bytes:
    """Return the archive with the modules of MODULES and `more`.

    Raises LookupError for a module that the kernel does not have.
    """
    modules = in_order(module_tree, (*MODULES, *more))
    names = "".join(f"{name}.ko\n" for name in modules)
    entries = [entry(name, stat.S_IFDIR | 0o755, b"") for name in FOLDERS]
    entries += [
        entry(f"modules/{name}.ko", stat.S_IFREG | 0o644, text) for name, text in modules.items()
    ]
    entries += [
        entry("modules/order", stat.S_IFREG | 0o644, names.encode()),
        entry("busybox", stat.S_IFREG | 0o755, busybox.read_bytes()),
        entry("init", stat.S_IFREG | 0o755, init.read_bytes()),
        entry("TRAILER!!!", 0, b""),
    ]
    return b"".join(entries)


def in_order(module_tree: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    """Return the modules' content by name, each after its dependencies; without built-in ones."""
    files, present = _files_of(module_tree), _built_into(module_tree)
    modules: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in modules or name in present:
            return
        if name not in files:
            raise LookupError(f"the kernel has no module {name}")
        text = files[name].read_bytes()
        if files[name].suffix != ".ko":
            text = decompressed(text)
        match = re.search(rb"\0depends=([^\0]*)\0", text)
        for needed in match[1].decode().split(",") if match and match[1] else ():
            add(needed.replace("-", "_"))
        modules[name] = text

    for name in wanted:
        add(name)
    return modules


def lacking(module_tree: Path) -> list[str]:
    """Return which MODULES are neither files nor built in; OSError without modules.builtin."""
    has = _built_into(module_tree).union(_files_of(module_tree))
    return [name for name in MODULES if name not in has]


def entry(name: str, mode: int, text: bytes) -> bytes:
    """Return one file or folder in newc format: 13 hexadecimal fields, name, content."""
    path = name.encode() + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + path
    return head + bytes(-len(head) % 4) + text + bytes(-len(text) % 4)


def _files_of(module_tree: Path) -> dict[str, Path]:
    return {_name(path): path for path in module_tree.rglob("*.ko*")}


def _built_into(module_tree: Path) -> set[str]:
    built_in = (module_tree / "modules.builtin").read_text(encoding="utf-8").split()
    return {_name(Path(line)) for line in built_in}


def _name(path: Path) -> str:
    return path.name.partition(".ko")[0].replace("-", "_")


if __name__ == "__main__":
    tree, busybox_file, init_file, output, *names = sys.argv[1:]
    image = archive(Path(tree), Path(busybox_file), Path(init_file), names)
    write_whole(Path(output), image)
