"""The OpenMP runtime is what the loader says, with the version of the package it is from."""

from __future__ import annotations

import os

import pytest

from runners.host.program_files import OpenMPRuntime, find_runtime, libraries_in, runtime_among
from runners.host.software import find_program


def test_the_family_is_read_from_the_loaders_answer() -> None:
    text = (
        "\tlinux-vdso.so.1 (0x00007ffd)\n"
        "\tlibiomp5.so => /no/such/libiomp5.so (0x00007f1c)\n"
        "\tlibc.so.6 => /lib/libc.so.6 (0x00007f1b)\n"
    )
    found = runtime_among(libraries_in(text))
    assert isinstance(found, OpenMPRuntime)
    assert (found.name, found.path) == ("libomp", "/no/such/libiomp5.so")
    assert "no package" in found.version


def test_a_program_without_openmp_has_a_reason() -> None:
    assert runtime_among(libraries_in("\tnot a dynamic executable\n")) == (
        "the program loads no OpenMP runtime"
    )


@pytest.mark.parametrize("family", ["libgomp", "libomp"])
def test_our_variants_load_the_runtime_they_are_named_after(family: str) -> None:
    program = find_program(f"mandelbrot-{family}")
    assert program, "run `make setup`"
    found = find_runtime(program, dict(os.environ))
    assert isinstance(found, OpenMPRuntime)
    assert found.name == family
    assert any(character.isdigit() for character in found.version)
