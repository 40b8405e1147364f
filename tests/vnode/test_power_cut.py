"""A power cut in the middle of a study: what was recorded is there, nothing is made twice or mixed.

What the guest has not written to its disk when QEMU is killed is lost: what no fsync asked for.
"""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

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


def test_power_cuts_at_random_moments_lose_no_run_but_the_one_in_flight(
    node: VirtualNode,
) -> None:
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
