"""A node that comes back with another kernel, or other boot options, in the middle of a study."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.tools import missing
from tests.vnode.conftest import USUAL, Guests
from vnode.commands import (
    RESULTS,
    pinstudy,
    records,
    start_study,
    study,
    until,
    without_pandas,
)
from vnode.node import VirtualNode
from vnode.shape import OTHER, Shape

pytestmark = pytest.mark.vnode

NAME = "ten-cases"


@pytest.fixture(scope="module")
def switched_off(guests: Guests) -> Iterator[tuple[VirtualNode, Path]]:
    """Give a node that was switched off during a study, and a copy of its disk."""
    node = guests.boot(USUAL)
    start_study(node, NAME)
    until(node, lambda: len(records(node, NAME)) >= 3)
    node.power_cut()
    assert node.disk
    yield node, Path(shutil.copyfile(node.disk, node.disk.with_name("switched-off")))
    guests.close()


@pytest.fixture
def begun(switched_off: tuple[VirtualNode, Path]) -> Iterator[VirtualNode]:
    """Give the node as it was switched off."""
    node, disk = switched_off
    assert node.disk
    shutil.copyfile(disk, node.disk)
    yield node
    node.power_cut()


def comes_back(node: VirtualNode, shape: Shape) -> None:
    node.shape = shape
    node.boot()


def test_a_study_is_not_continued_by_another_kernel(begun: VirtualNode) -> None:
    if not (OTHER / "initramfs").exists():
        missing("there is no second kernel: `make test-vnode` fetches one where apt offers it")
    node = begun
    comes_back(node, replace(USUAL, boot_from=OTHER))
    before = records(node, NAME)
    (was,) = {run["kernel"] for run in before if "kernel" in run}
    now = node.shell("uname -r")
    assert now != was

    refused = pinstudy(node, *study(NAME))

    assert refused.status == 2, refused
    (line,) = [line for line in refused.errors.splitlines() if "the node has changed" in line]
    assert f"kernel was '{was}', now '{now}'" in line
    assert "online" not in line
    assert "--fresh" in line
    assert records(node, NAME) == before

    with without_pandas(node):
        anew = pinstudy(node, *study(NAME), "--fresh")

    assert anew.status == 0, anew
    # The older runs stay, in another folder than the newer ones.
    runs = records(node, NAME)
    older = [run for run in runs if run in before]
    assert len(older) == len(before)
    newer = [run for run in runs if run not in older]
    assert {run["kernel"] for run in newer if run["status"] == "ok"} == {now}
    assert len({run["node_digest"] for run in newer}) == 1
    assert len(node.shell(f"ls -d {RESULTS}/{NAME}/*").split()) == 2


def test_a_study_goes_on_once_the_boot_options_are_as_they_were(begun: VirtualNode) -> None:
    node = begun
    comes_back(node, replace(USUAL, options="mitigations=auto nosmt"))
    before = records(node, NAME)

    refused = pinstudy(node, *study(NAME))

    assert refused.status == 2, refused
    assert "boot options lost 'mitigations=off' and got 'mitigations=auto nosmt'" in refused.errors
    assert "online CPUs were '0-7', now '0,2,4-7'" in refused.errors
    assert records(node, NAME) == before
    node.power_cut()
    comes_back(node, USUAL)
    with without_pandas(node):
        ended = pinstudy(node, *study(NAME))
    assert ended.status == 0, ended
    good = [run["case_number"] for run in records(node, NAME) if run["status"] == "ok"]
    assert sorted(good) == list(range(1, 11))
