"""A node that goes down in a study: what was recorded is there, nothing is made twice or mixed."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.tools import missing
from tests.vnode.conftest import USUAL, Guests
from vnode.commands import (
    RESULTS,
    journal_exists,
    pinstudy,
    records,
    settings,
    start_study,
    study,
    until,
    vary_settings,
    without_pandas,
)
from vnode.node import VirtualNode
from vnode.shape import OTHER, Shape

pytestmark = pytest.mark.vnode

NAME = "ten-cases"
FOLDER = f"{RESULTS}/{NAME}/vnode"
CUTS = 4
# The study's cases, with one run each.
CASES = 10


def good_run_ids(node: VirtualNode) -> Counter[str]:
    """Return how often each run of the study ended well."""
    return Counter(run["run_id"] for run in records(node, NAME) if run["status"] == "ok")


def files_beside_records(node: VirtualNode) -> dict[str, str]:
    """Return the files beside the records, by name."""
    names = node.shell(
        f"cd {FOLDER} 2>/dev/null && find . -name '*.json' -o -name study.yaml || true"
    )
    return {name: node.shell(f"cat {FOLDER}/{name}") for name in names.split()}


def test_after_a_power_cut_the_study_goes_on_when_the_settings_are_as_they_were(
    node: VirtualNode,
) -> None:
    vary_settings(node)
    varied = settings(node)
    start_study(node, NAME)
    until(node, lambda: len(records(node, NAME)) >= 3)
    # The last record may have been read before its fsync ended.
    durable = records(node, NAME)[:-1]

    node.power_cut()
    node.boot()
    boot_settings = settings(node)
    assert journal_exists(node)
    refused = pinstudy(node, *study(NAME))

    lines = [line for line in refused.errors.splitlines() if line.startswith("pinstudy:")]
    assert any("the node was rebooted" in line and "nothing was put back" in line for line in lines)
    assert settings(node) == boot_settings
    assert not journal_exists(node)
    # EPPs and limits are not those of the runs before the cut, so none is added to them. Which of
    # them a run had depends on its CPUs, and which runs were made on the shuffle.
    assert refused.status == 2, refused
    _, _, differ = lines[-1].partition("settings are not those of the runs there: ")
    assert differ.startswith(("EPP was", "highest frequency", "lowest frequency")), lines

    vary_settings(node)
    with without_pandas(node):
        ended = pinstudy(node, *study(NAME))

    assert ended.status == 0, ended
    assert settings(node) == varied
    assert not journal_exists(node)
    runs = records(node, NAME)
    assert all(run in runs for run in durable)
    good = [run["case_number"] for run in runs if run["status"] == "ok"]
    assert sorted(good) == list(range(1, CASES + 1))
    assert len({run["boot_id"] for run in runs}) == 2


def test_power_cuts_at_random_moments_lose_no_run_but_the_one_in_flight(node: VirtualNode) -> None:
    moments = random.Random(8)
    durable: list[str] = []
    for cut in range(CUTS):
        before = len(records(node, NAME))
        if len(good_run_ids(node)) == CASES:
            break
        start_study(node, NAME)
        if cut:
            until(node, lambda: len(records(node, NAME)) > before)  # noqa: B023 - used at once
        # From the start of the interpreter to some runs later.
        node.run("sleep", f"{moments.uniform(0, 4):.2f}")
        before_cut = [json.dumps(run) for run in records(node, NAME)]

        node.power_cut()
        node.boot()

        after_cut = [json.dumps(run) for run in records(node, NAME)]
        assert set(durable) <= set(after_cut)
        assert set(before_cut[:-1]) <= set(after_cut)
        durable = after_cut
        assert max(good_run_ids(node).values(), default=1) == 1
        for name, text in files_beside_records(node).items():
            assert text.strip(), f"{name} is empty after the power cut"
            if name.endswith(".json"):
                json.loads(text)
    with without_pandas(node):
        ended = pinstudy(node, *study(NAME))

    assert ended.status == 0, ended
    runs = records(node, NAME)
    good = [run["case_number"] for run in runs if run["status"] == "ok"]
    assert sorted(good) == list(range(1, CASES + 1))
    assert set(durable) <= {json.dumps(run) for run in runs}


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
