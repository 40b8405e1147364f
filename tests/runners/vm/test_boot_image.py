"""A guest's first file system, read back by another program, and the modules in their order."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runners.vm.boot_image import FOLDERS, MODULES, archive, in_order
from tests.runners.vm.kernels import (
    MODULE_COMPRESSIONS,
    NEEDS,
    debian_tree,
    module,
    module_tree,
)
from tests.support.tools import need_tool

NEEDED_BY = {Path(path).stem: needs for path, needs in NEEDS.items()}


def unpacked(packed: bytes, folder: Path) -> Path:
    """Unpack an archive by busybox, which is not ours, as its kernel would."""
    folder.mkdir()
    busybox = need_tool("busybox")
    subprocess.run([busybox, "cpio", "-i", "-d", "-m"], cwd=folder, input=packed, check=True)
    return folder


def made(tmp_path: Path, more: tuple[str, ...] = ()) -> bytes:
    busybox, init = tmp_path / "busybox-static", tmp_path / "first"
    # Lengths that are no multiples of four: contents are padded in the archive.
    busybox.write_bytes(b"\x7fELF busybox")
    init.write_bytes(b"#!/busybox sh\necho hello\n")
    return archive(debian_tree(tmp_path / "modules"), busybox, init, more)


def test_files_come_out_as_they_went_in_and_can_be_run(tmp_path: Path) -> None:
    root = unpacked(made(tmp_path), tmp_path / "root")
    assert (root / "init").read_bytes() == b"#!/busybox sh\necho hello\n"
    assert (root / "busybox").read_bytes() == b"\x7fELF busybox"
    assert os.access(root / "init", os.X_OK) and os.access(root / "busybox", os.X_OK)
    assert all((root / name).is_dir() for name in FOLDERS)
    for name, needs in NEEDED_BY.items():
        if name != "soundcore":
            assert (root / "modules" / f"{name}.ko").read_bytes() == module(name, *needs)


def loads(order: list[str]) -> None:
    """Load modules as insmod does: each only after all that it needs."""
    loaded: set[str] = set()
    for name in order:
        assert set(NEEDED_BY[name]) <= loaded, name
        assert name not in loaded
        loaded.add(name)
    assert set(MODULES) <= loaded


def test_the_init_loads_modules_after_those_that_they_need(tmp_path: Path) -> None:
    root = unpacked(made(tmp_path), tmp_path / "root")
    order = (root / "modules" / "order").read_text().splitlines()
    assert all((root / "modules" / file).is_file() for file in order)
    loads([file.removesuffix(".ko") for file in order])


def test_more_modules_can_be_asked_for(tmp_path: Path) -> None:
    root = unpacked(made(tmp_path, more=("soundcore",)), tmp_path / "root")
    assert (root / "modules" / "order").read_text().splitlines()[-1] == "soundcore.ko"
    assert (root / "modules" / "soundcore.ko").is_file()


@pytest.mark.parametrize("suffix", MODULE_COMPRESSIONS)
def test_compressed_modules_are_decompressed(tmp_path: Path, suffix: str) -> None:
    found = in_order(debian_tree(tmp_path, suffix), MODULES)
    loads(list(found))
    assert all(text == module(name, *NEEDED_BY[name]) for name, text in found.items())


def test_what_the_kernel_has_inside_is_not_loaded(tmp_path: Path) -> None:
    tree = module_tree(
        tmp_path,
        {"fs/9p/9p.ko": module("9p", "9pnet", "netfs"), "fs/netfs/netfs.ko": module("netfs")},
        built_in=("net/9p/9pnet.ko", "drivers/virtio/virtio-pci.ko"),
    )
    assert list(in_order(tree, ("virtio_pci", "9p"))) == ["netfs", "9p"]


def test_a_hyphen_in_a_file_s_name_is_an_underscore_in_the_module_s(tmp_path: Path) -> None:
    tree = module_tree(
        tmp_path,
        {
            "drivers/virtio-pci.ko": module("virtio_pci", "virtio-ring"),
            "drivers/virtio_ring.ko": module("virtio_ring"),
        },
    )
    assert list(in_order(tree, ("virtio_pci",))) == ["virtio_ring", "virtio_pci"]


def test_a_module_that_is_missing_is_named(tmp_path: Path) -> None:
    tree = module_tree(tmp_path, {"fs/9p/9p.ko": module("9p", "9pnet")})
    with pytest.raises(LookupError, match="the kernel has no module overlay"):
        in_order(tree, ("overlay",))
    with pytest.raises(LookupError, match="the kernel has no module 9pnet"):
        in_order(tree, ("9p",))


def test_a_module_that_is_damaged_is_a_value_error(tmp_path: Path) -> None:
    whole = MODULE_COMPRESSIONS[".xz"](module("9p"))
    tree = module_tree(tmp_path, {"fs/9p/9p.ko.xz": whole[: len(whole) // 2]})
    with pytest.raises(ValueError, match="cut off"):
        in_order(tree, ("9p",))


def test_a_kernel_without_a_list_of_what_is_inside_is_an_error_of_its_files(
    tmp_path: Path,
) -> None:
    tree = module_tree(tmp_path, {})
    (tree / "modules.builtin").unlink()
    with pytest.raises(OSError, match=r"modules\.builtin"):
        in_order(tree, ())
