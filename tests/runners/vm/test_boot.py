"""What a guest boots from: its kernel, its modules, its first files, and a node that has them."""

from __future__ import annotations

import gzip
import lzma
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.errors import UserError
from pinstudy.runners.vm import host
from pinstudy.runners.vm.boot_image import FOLDERS, MODULES, archive, in_order
from pinstudy.runners.vm.host import INIT, QEMU, GuestHost, Kernel, check_memory, find_guest_host
from pinstudy.runners.vm.vmlinux import decompressed, vmlinux
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.studies import write_program
from tests.support.tools import need_tool
from tests.support.trees import write

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


@pytest.mark.parametrize("compression", KERNEL_COMPRESSIONS)
def test_the_kernel_is_what_was_compressed_and_half_of_it_is_none(compression: str) -> None:
    compress = KERNEL_COMPRESSIONS[compression]
    for setup_sectors in (0, 4, 39):
        assert vmlinux(bzimage(compress(KERNEL), setup_sectors)) == KERNEL
    # Noise does not compress: half of the payload is half of the kernel.
    noise = bytes((index * index * 7919 >> 5) % 256 for index in range(100_000))
    payload = compress(KERNEL + noise)
    with pytest.raises(ValueError, match="cannot be decompressed"):
        vmlinux(bzimage(payload[: len(payload) // 2]))


@pytest.mark.parametrize(
    ("image", "said"),
    [
        *((image, "is no bzImage") for image in (b"", KERNEL)),
        *((bzimage(b"")[:length], "is no bzImage") for length in (0x206, 0x24F)),
        (bzimage(b""), "is compressed in an unknown way"),
        (bzimage(b"BZh9" + bytes(100)), "is compressed in an unknown way"),
        (bzimage(KERNEL_COMPRESSIONS["gzip"](b"no kernel")), "holds no ELF kernel"),
        # Damage that another program finds.
        (bzimage(b"\x28\xb5\x2f\xfd" + b"\xff" * 40), "cannot be decompressed by zstd"),
        (bzimage(b"\x02\x21\x4c\x18" + b"\xff" * 40), "cannot be decompressed by lz4"),
    ],
)
def test_what_is_no_kernel_is_said(image: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vmlinux(image)


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = KERNEL_COMPRESSIONS["zstd"](KERNEL)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ValueError, match=r"cannot be decompressed by zstd: .*'zstd'"):
        vmlinux(bzimage(payload))


@given(st.data())
def test_one_wrong_byte_in_a_compressed_kernel_is_a_value_error_or_harms_nothing(
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from(["xz", "gzip"]))
    packed = bytearray(KERNEL_COMPRESSIONS[name](KERNEL))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = decompressed(bytes(packed))
    except ValueError:
        return
    # Neither format sums up all of its header (a name, a time), nor what stands behind its end.
    assert found == KERNEL


NEEDED_BY = {Path(path).stem: needs for path, needs in NEEDS.items()}


def test_files_come_out_as_they_went_in_with_modules_in_their_order(tmp_path: Path) -> None:
    files, root = tmp_path / "files", tmp_path / "root"
    files.mkdir()
    root.mkdir()
    # Lengths that are no multiples of four: contents are padded in the archive.
    contents = {"busybox": b"\x7fELF busybox", "init": b"#!/busybox sh\necho hello\n"}
    for name, text in contents.items():
        (files / name).write_bytes(text)
    tree = debian_tree(tmp_path / "modules")
    packed = archive(tree, files / "busybox", files / "init", ("soundcore",))
    # busybox, which is not ours, unpacks it as its kernel would.
    command = [need_tool("busybox"), "cpio", "-i", "-d", "-m"]
    subprocess.run(command, cwd=root, input=packed, check=True)
    assert {name: (root / name).read_bytes() for name in contents} == contents
    assert all(os.access(root / name, os.X_OK) for name in contents)
    assert all((root / name).is_dir() for name in FOLDERS)
    for name, needs in NEEDED_BY.items():
        assert (root / "modules" / f"{name}.ko").read_bytes() == module(name, *needs)
    order = (root / "modules" / "order").read_text().splitlines()
    assert order[-1] == "soundcore.ko", "a module that was asked for"
    loads([file.removesuffix(".ko") for file in order])


def loads(order: list[str]) -> None:
    """Load modules as insmod does: each only after all that it needs."""
    loaded: set[str] = set()
    for name in order:
        assert set(NEEDED_BY[name]) <= loaded, name
        assert name not in loaded
        loaded.add(name)
    assert set(MODULES) <= loaded


@pytest.mark.parametrize("suffix", MODULE_COMPRESSIONS)
def test_compressed_modules_are_decompressed(tmp_path: Path, suffix: str) -> None:
    found = in_order(debian_tree(tmp_path, suffix), MODULES)
    loads(list(found))
    assert all(text == module(name, *NEEDED_BY[name]) for name, text in found.items())


def test_modules_are_found_by_name_and_not_loaded_where_the_kernel_has_them(tmp_path: Path) -> None:
    tree = module_tree(
        tmp_path,
        {
            "fs/9p/9p.ko": module("9p", "9pnet", "netfs"),
            "fs/netfs/netfs.ko": module("netfs"),
            # A hyphen in a file's name is an underscore in the module's.
            "drivers/virtio-blk.ko": module("virtio_blk", "virtio-ring"),
            "drivers/virtio_ring.ko": module("virtio_ring"),
        },
        built_in=("net/9p/9pnet.ko", "drivers/virtio/virtio-pci.ko"),
    )
    wanted = ("virtio_pci", "9p", "virtio_blk")
    assert list(in_order(tree, wanted)) == ["netfs", "9p", "virtio_ring", "virtio_blk"]


def test_a_module_that_is_missing_or_damaged_is_an_error(tmp_path: Path) -> None:
    tree = module_tree(tmp_path, {"fs/9p/9p.ko": module("9p", "9pnet")})
    for asked, lacking in (("overlay", "overlay"), ("9p", "9pnet")):
        with pytest.raises(LookupError, match=f"the kernel has no module {lacking}"):
            in_order(tree, (asked,))
    whole = MODULE_COMPRESSIONS[".xz"](module("9p"))
    tree = module_tree(tmp_path / "cut", {"fs/9p/9p.ko.xz": whole[: len(whole) // 2]})
    with pytest.raises(ValueError, match="cut off"):
        in_order(tree, ("9p",))
    (tree / "modules.builtin").unlink()
    with pytest.raises(OSError, match=r"modules\.builtin"):
        in_order(tree, ())


RELEASE = "0.0.0-of-no-machine"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of programs and of kernels: nothing of this machine is there."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "release", lambda: RELEASE)
    monkeypatch.setattr(host, "_FETCHED", tmp_path / "fetched")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def install(node: Path, *names: str) -> None:
    for name in names:
        write_program(node / "bin" / name, "#!/bin/sh\n")


def fetch_kernel(node: Path, library: str = "lib") -> Kernel:
    """Put a kernel where `make vm` unpacks it."""
    image = node / "fetched" / "boot" / f"vmlinuz-{RELEASE}"
    image.parent.mkdir(parents=True)
    image.write_bytes(bzimage(KERNEL_COMPRESSIONS["gzip"](KERNEL)))
    return Kernel(image, debian_tree(node / "fetched" / library / "modules" / RELEASE))


@pytest.mark.parametrize("library", ["lib", "usr/lib"])
def test_a_node_that_has_everything_can_run_guests(node: Path, library: str) -> None:
    install(node, QEMU, "busybox")
    kernel = fetch_kernel(node, library)
    found = find_guest_host("no vmx or svm", node)
    qemu, busybox = (str(node / "bin" / name) for name in (QEMU, "busybox"))
    assert found == GuestHost(qemu, kernel, busybox, "no vmx or svm")
    assert found.accelerator == "tcg"
    assert find_guest_host("", node).accelerator == "kvm"


@pytest.mark.parametrize("place", ["boot/vmlinuz-{}", "lib/modules/{}/vmlinuz"])
def test_the_node_s_own_kernel_comes_first_where_it_has_its_modules(node: Path, place: str) -> None:
    install(node, QEMU, "busybox")
    fetched = fetch_kernel(node)
    image = node / place.format(RELEASE)
    write(node, place.format(RELEASE), "an image")
    assert find_guest_host("", node).kernel == fetched
    modules = debian_tree(node / "lib" / "modules" / RELEASE)
    assert find_guest_host("", node).kernel == Kernel(image, modules)
    (modules / "kernel/fs/9p/9p.ko").unlink()
    assert find_guest_host("", node).kernel == fetched


def test_what_is_missing_is_named_with_what_helps(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for missing, add in (
        (QEMU, lambda: install(node, QEMU)),
        ("busybox", lambda: install(node, "busybox")),
        ("a kernel that guests can boot", lambda: fetch_kernel(node)),
    ):
        with pytest.raises(UserError, match=f"engine vm: {missing} is missing; .*`make vm`"):
            find_guest_host("", node)
        add()
    find_guest_host("", node)
    with monkeypatch.context() as other:
        other.setattr(platform, "machine", lambda: "aarch64")
        with pytest.raises(UserError, match="guests are x86-64 ones so far, and not aarch64"):
            find_guest_host("", node)
    monkeypatch.setattr(sys, "executable", "/home/a user/.venv/bin/python")
    with pytest.raises(UserError, match=r"^/home/a user/.venv/bin/python: .* path with blanks"):
        find_guest_host("", node)


def test_a_kernel_that_only_root_may_read_is_named_with_what_opens_it(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(node, QEMU, "busybox")
    with open_folder() as folder:
        (node / "bin").rename(folder / "bin")
        monkeypatch.setenv("PATH", str(folder / "bin"))
        monkeypatch.setattr(host, "_FETCHED", folder / "fetched")
        image = folder / "boot" / f"vmlinuz-{RELEASE}"
        write(folder, f"boot/vmlinuz-{RELEASE}", "an image")
        image.chmod(0)
        debian_tree(folder / "lib" / "modules" / RELEASE)
        with ordinary_user(), pytest.raises(UserError, match=f"sudo chmod a\\+r {image}"):
            find_guest_host("", folder)


def guest_host(node: Path, emulated: str) -> GuestHost:
    install(node, "busybox")
    return GuestHost("qemu", fetch_kernel(node), str(node / "bin" / "busybox"), emulated)


def test_an_emulated_guest_starts_the_kernel_without_its_decompression(node: Path) -> None:
    emulated = guest_host(node, "no vmx or svm")
    kernel, files = emulated.boot_files()
    assert kernel == KERNEL
    assert INIT.read_bytes() in files
    with_kvm = replace(emulated, emulated="")
    assert with_kvm.boot_files()[0] == emulated.kernel.image.read_bytes()


IMAGE = f"boot/vmlinuz-{RELEASE}"


@pytest.mark.parametrize(
    ("spoilt", "content", "said"),
    [
        (IMAGE, None, "No such file"),
        (f"lib/modules/{RELEASE}/modules.builtin", None, "No such file"),
        (f"lib/modules/{RELEASE}/kernel/fs/9p/9p.ko", None, "the kernel has no module 9p"),
        *((IMAGE, image, "") for image in (b"", b"MZ" + bytes(5000), bzimage(b"\x1f\x8b\x08 x"))),
    ],
)
def test_a_kernel_that_lacks_something_is_told_with_what_helps(
    node: Path, spoilt: str, content: bytes | None, said: str
) -> None:
    made = guest_host(node, "no vmx or svm")
    if content is None:
        (node / "fetched" / spoilt).unlink()
    else:
        (node / "fetched" / spoilt).write_bytes(content)
    with pytest.raises(UserError, match=rf"be booted in a guest: .*{said}.*`make vm`") as told:
        made.boot_files()
    assert str(told.value).startswith(str(made.kernel.image))


def meminfo(available: str) -> str:
    return f"MemTotal:       65536000 kB\nMemFree:          102400 kB\n{available}Buffers: 1 kB"


@pytest.mark.parametrize("told", ["16777216 kB", None, "1 MB", "many kB", f"{'9' * 5000} kB"])
def test_a_guest_is_refused_where_it_does_not_fit_into_what_is_available(
    tmp_path: Path, told: str | None
) -> None:
    available = "" if told is None else f"MemAvailable:   {told}\n"
    write(tmp_path, "proc/meminfo", meminfo(available))
    check_memory(16384, tmp_path)
    check_memory(16384, tmp_path / "a recorded node without the file")
    # What is free says less: the kernel gives up its caches.
    write(tmp_path, "proc/meminfo", meminfo("MemAvailable:   16777215 kB\n"))
    with pytest.raises(UserError, match="16384 MiB does not fit into the 16383 MiB of memory"):
        check_memory(16384, tmp_path)
