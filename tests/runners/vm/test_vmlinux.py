"""The kernel comes out of a bzImage as it went in, and anything else is a ValueError."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.vm.vmlinux import decompressed, vmlinux
from tests.runners.vm.kernels import KERNEL, KERNEL_COMPRESSIONS, bzimage

every_compression = pytest.mark.parametrize(
    "compress", KERNEL_COMPRESSIONS.values(), ids=KERNEL_COMPRESSIONS
)


@every_compression
@pytest.mark.parametrize("setup_sectors", [0, 4, 39])
def test_the_kernel_is_what_was_compressed(
    compress: Callable[[bytes], bytes], setup_sectors: int
) -> None:
    assert vmlinux(bzimage(compress(KERNEL), setup_sectors)) == KERNEL


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (b"", "is no bzImage"),
        (KERNEL, "is no bzImage"),
        (bzimage(b"")[:0x206], "is no bzImage"),
        (bzimage(b"")[:0x24F], "is no bzImage"),
        (bzimage(b""), "is compressed in an unknown way"),
        (bzimage(KERNEL), "is compressed in an unknown way"),
        (bzimage(b"BZh9" + bytes(100)), "is compressed in an unknown way"),
        (bzimage(KERNEL_COMPRESSIONS["gzip"](b"no kernel")), "holds no ELF kernel"),
    ],
)
def test_what_is_no_kernel_is_said(image: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vmlinux(image)


@every_compression
def test_a_kernel_that_is_cut_off_is_not_taken_for_a_whole_one(
    compress: Callable[[bytes], bytes],
) -> None:
    # Noise does not compress: half of the payload is half of the kernel.
    kernel = KERNEL + bytes((index * index * 7919 >> 5) % 256 for index in range(100_000))
    payload = compress(kernel)
    with pytest.raises(ValueError, match="cannot be decompressed"):
        vmlinux(bzimage(payload[: len(payload) // 2]))


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


@pytest.mark.parametrize("magic", [b"\x28\xb5\x2f\xfd", b"\x02\x21\x4c\x18"], ids=["zstd", "lz4"])
def test_damage_that_another_program_finds_is_a_value_error(magic: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be decompressed by"):
        decompressed(magic + b"\xff" * 40)
