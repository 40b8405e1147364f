"""What a node needs to run guests: what is missing is named, with what helps."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import UserError
from runners.vm import host
from runners.vm.host import INIT, QEMU, GuestHost, Kernel, check_memory, find_guest_host
from tests.runners.vm.kernels import KERNEL, KERNEL_COMPRESSIONS, bzimage, debian_tree
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.studies import write_program
from tests.support.trees import write

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


def install(node: Path, name: str) -> None:
    write_program(node / "bin" / name, "#!/bin/sh\n")


def fetch_kernel(node: Path, library: str = "lib") -> Kernel:
    """Put a kernel where `make vm` unpacks it."""
    image = node / "fetched" / "boot" / f"vmlinuz-{RELEASE}"
    image.parent.mkdir(parents=True)
    image.write_bytes(bzimage(KERNEL_COMPRESSIONS["gzip"](KERNEL)))
    return Kernel(image, debian_tree(node / "fetched" / library / "modules" / RELEASE))


@pytest.mark.parametrize("library", ["lib", "usr/lib"])
def test_a_node_that_has_everything_can_run_guests(node: Path, library: str) -> None:
    install(node, QEMU)
    install(node, "busybox")
    kernel = fetch_kernel(node, library)
    found = find_guest_host("no vmx or svm", node)
    assert found == GuestHost(
        str(node / "bin" / QEMU), kernel, str(node / "bin" / "busybox"), "no vmx or svm"
    )
    assert found.accelerator == "tcg"
    assert find_guest_host("", node).accelerator == "kvm"


@pytest.mark.parametrize("place", ["boot/vmlinuz-{}", "lib/modules/{}/vmlinuz"])
def test_the_node_s_own_kernel_comes_before_one_that_was_fetched(node: Path, place: str) -> None:
    install(node, QEMU)
    install(node, "busybox")
    fetch_kernel(node)
    modules = debian_tree(node / "lib" / "modules" / RELEASE)
    image = node / place.format(RELEASE)
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_bytes(b"an image")
    assert find_guest_host("", node).kernel == Kernel(image, modules)


@pytest.mark.parametrize("lacking", ["all modules", "a module"])
def test_a_kernel_of_the_node_that_lacks_modules_is_passed_over(node: Path, lacking: str) -> None:
    install(node, QEMU)
    install(node, "busybox")
    fetched = fetch_kernel(node)
    write(node, f"boot/vmlinuz-{RELEASE}", "an image")
    if lacking == "a module":
        modules = debian_tree(node / "lib" / "modules" / RELEASE)
        (modules / "kernel/fs/9p/9p.ko").unlink()
    assert find_guest_host("", node).kernel == fetched


@pytest.mark.parametrize(
    ("there", "missing"),
    [
        ((), QEMU),
        (("busybox", "kernel"), QEMU),
        ((QEMU, "kernel"), "busybox"),
        ((QEMU, "busybox"), "a kernel that guests can boot"),
    ],
)
def test_what_is_missing_is_named_with_what_helps(
    node: Path, there: tuple[str, ...], missing: str
) -> None:
    for name in there:
        if name == "kernel":
            fetch_kernel(node)
        else:
            install(node, name)
    with pytest.raises(UserError, match=f"engine vm: {missing} is missing; .*`make vm`"):
        find_guest_host("", node)


def test_a_kernel_that_only_root_may_read_is_named_with_what_opens_it(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in (QEMU, "busybox"):
        install(node, tool)
    with open_folder() as folder:
        (node / "bin").rename(folder / "bin")
        monkeypatch.setenv("PATH", str(folder / "bin"))
        monkeypatch.setattr(host, "_FETCHED", folder / "fetched")
        image = folder / "boot" / f"vmlinuz-{RELEASE}"
        image.parent.mkdir()
        image.write_bytes(b"an image")
        image.chmod(0)
        debian_tree(folder / "lib" / "modules" / RELEASE)
        with ordinary_user(), pytest.raises(UserError, match=f"sudo chmod a\\+r {image}"):
            find_guest_host("", folder)


def test_a_node_of_another_architecture_is_told_which_it_would_have_to_be(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(node, QEMU)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(UserError, match="guests are x86-64 ones so far, and not aarch64"):
        find_guest_host("", node)


def test_an_interpreter_with_blanks_in_its_path_is_refused(
    node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/home/a user/.venv/bin/python")
    with pytest.raises(UserError, match=r"^/home/a user/.venv/bin/python: .* path with blanks"):
        find_guest_host("", node)


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


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ("boot/vmlinuz-" + RELEASE, "No such file"),
        (f"lib/modules/{RELEASE}/modules.builtin", "No such file"),
        (f"lib/modules/{RELEASE}/kernel/fs/9p/9p.ko", "the kernel has no module 9p"),
    ],
)
def test_a_kernel_that_lacks_something_is_told_with_what_helps(
    node: Path, spoilt: str, said: str
) -> None:
    made = guest_host(node, "no vmx or svm")
    (node / "fetched" / spoilt).unlink()
    with pytest.raises(UserError, match=rf"be booted in a guest: .*{said}.*`make vm`") as told:
        made.boot_files()
    assert str(told.value).startswith(str(made.kernel.image))


@pytest.mark.parametrize("content", [b"", b"MZ" + bytes(5000), bzimage(b"\x1f\x8b\x08 damaged")])
def test_an_image_that_is_none_is_told_with_what_helps(node: Path, content: bytes) -> None:
    made = guest_host(node, "no vmx or svm")
    made.kernel.image.write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be booted in a guest: .*`make vm`"):
        made.boot_files()


def meminfo(available: str) -> str:
    return f"MemTotal:       65536000 kB\nMemFree:          102400 kB\n{available}Buffers: 1 kB"


def test_a_guest_that_does_not_fit_is_refused_with_what_there_is(tmp_path: Path) -> None:
    # What is free says less: the kernel gives up its caches.
    write(tmp_path, "proc/meminfo", meminfo("MemAvailable:   16777215 kB\n"))
    with pytest.raises(UserError) as told:
        check_memory(16384, tmp_path)
    assert str(told.value) == (
        "a guest of 16384 MiB does not fit into the 16383 MiB of memory that are available; give "
        "the study's vm less memory"
    )


@pytest.mark.parametrize(
    "available",
    [
        "MemAvailable:   16777216 kB\n",
        "",
        "MemAvailable: 1 MB\n",
        "MemAvailable: many kB\n",
        f"MemAvailable: {'9' * 5000} kB\n",
    ],
)
def test_a_node_with_room_or_that_does_not_tell_its_memory_refuses_nothing(
    tmp_path: Path, available: str
) -> None:
    write(tmp_path, "proc/meminfo", meminfo(available))
    check_memory(16384, tmp_path)
    check_memory(16384, tmp_path / "a recorded node without the file")
