"""Instructions that only some kinds have are found from the flags of all CPUs, on every vendor."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.node.instruction_sets import flags_of
from runners.node.node import open_node
from tests.support.trees import build_tree, write

MACHINE = "i9-14900k-noht"


def with_flags(folder: Path, *groups: tuple[range, str], field: str = "flags") -> Path:
    """Return a node of 8 P-cores (CPUs 0-7) and 16 E-cores whose CPUs have these flags."""
    root = build_tree(folder, MACHINE)
    blocks = [
        f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\n{field}\t: {flags}\n"
        for cpus, flags in groups
        for cpu in cpus
    ]
    write(root, "proc/cpuinfo", "\n".join(blocks))
    return root


def isa(root: Path) -> object:
    return open_node(root).facts["isa_by_kind"]


def test_only_what_differs_between_kinds_is_kept_and_sorted(tmp_path: Path) -> None:
    root = with_flags(
        tmp_path, (range(8), "fpu sse2 avx512f amx_tile"), (range(8, 24), "fpu sse2 avx_vnni")
    )
    assert isa(root) == {"P": "amx_tile avx512f", "E": "avx_vnni"}


def test_a_kind_without_flags_of_its_own_is_named_with_none(tmp_path: Path) -> None:
    root = with_flags(tmp_path, (range(8), "fpu avx512f"), (range(8, 24), "fpu"))
    assert isa(root) == {"P": "avx512f", "E": ""}


def test_a_difference_within_a_kind_is_no_flag_of_that_kind(tmp_path: Path) -> None:
    root = with_flags(
        tmp_path, (range(4), "fpu avx512f"), (range(4, 8), "fpu"), (range(8, 24), "fpu")
    )
    assert isa(root) == {"P": "", "E": ""}


def test_kinds_that_differ_in_sensors_and_sleep_states_have_the_same_instructions(
    tmp_path: Path,
) -> None:
    root = with_flags(tmp_path, (range(8), "fpu hwp_epp hfi"), (range(8, 24), "fpu"))
    assert isa(root) == {}


def test_risc_v_kinds_have_the_instructions_of_their_own_harts(tmp_path: Path) -> None:
    assert isa(build_tree(tmp_path, "k3")) == {"P": "h", "E": ""}


def test_equal_cpus_have_no_flags_by_kind(tmp_path: Path) -> None:
    assert isa(build_tree(tmp_path, MACHINE)) == {}


def test_cpus_without_flags_are_not_compared(tmp_path: Path) -> None:
    root = with_flags(tmp_path, (range(8), "fpu"))
    facts = open_node(root).facts
    assert "isa_by_kind" not in facts
    assert facts["unavailable"]["isa_by_kind"] == "/proc/cpuinfo has no flags of CPU 8"


def test_flags_that_differ_are_no_part_of_the_digest(tmp_path: Path) -> None:
    alike = with_flags(tmp_path / "alike", (range(24), "fpu"))
    differing = with_flags(tmp_path / "other", (range(8), "fpu avx512f"), (range(8, 24), "fpu"))
    assert open_node(alike).digest == open_node(differing).digest


@pytest.mark.parametrize(
    ("block", "flags"),
    [
        ({"flags": "fpu sse2"}, {"fpu", "sse2"}),
        ({"Features": "asimd sve"}, {"asimd", "sve"}),
        (
            {"isa": "rv64imafdcv_zba_zvl256b"},
            {"rv64", "i", "m", "a", "f", "d", "c", "v", "zba", "zvl256b"},
        ),
        ({"isa": "rv64ima", "hart isa": "rv64imac_zvl1024b"}, {"rv64", *"imac", "zvl1024b"}),
        ({"isa": "unknown"}, {"unknown"}),
        ({"flags": "fpu \x1b[31m <b> " + "x" * 41}, {"fpu"}),
        ({"model name": "none"}, set()),
    ],
)
def test_every_vendors_flags_are_understood(block: dict[str, str], flags: set[str]) -> None:
    assert flags_of(block) == flags
