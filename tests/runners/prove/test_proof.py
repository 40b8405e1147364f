"""A proof of the instruments: what is off each time, what can be told apart, and how it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log
from pathlib import Path
from random import Random

import pytest
from scipy import stats

from pinstudy.base.errors import StudyError
from pinstudy.runners.node.node import Node, open_node
from pinstudy.runners.prove.proof import (
    Instrument,
    beyond,
    confirmed,
    keep,
    keep_for_node,
    latest_proof,
    new_proof,
)
from pinstudy.runners.prove.prove import judge_resolution, smallest_difference
from pinstudy.runners.records.instruments import FILE_NAME, Finding, read_proof
from tests.support.ordinary_user import user_without_account
from tests.support.trees import CPU, build_tree

ONE = Instrument("cycles", "P", "1 an addition", ("cycles",))
OTHER = Instrument("migrations", "", "200 moves")


def attempts(*measured: float) -> Callable[[], list[Finding]]:
    """Return attempts that measure these values, one after the other; 1 is right."""
    left = list(measured)

    def attempt() -> list[Finding]:
        value = left.pop(0)
        return [ONE.found(f"{value:g}", beyond(value, 1.0, 0.02)), OTHER.found("200")]

    return attempt


@pytest.mark.parametrize(
    ("measured", "state", "told", "reason"),
    [
        ((1.01,), "ok", "1.01", ""),
        # A disturbed run is told, and is no alarm.
        ((1.3, 1.2, 1.0), "ok", "1 (in try 3; before, 1.2)", ""),
        (
            *((1.1, 1.1, 1.1), "off", "1.1"),
            "+10.00% off, at most 2.00% is allowed (in each of 3 tries)",
        ),
    ],
)
def test_what_is_off_must_be_so_each_time(
    measured: tuple[float, ...], state: str, told: str, reason: str
) -> None:
    found, other = confirmed(attempts(*measured))
    assert (found.state, found.measured, found.why) == (state, told, reason)
    assert (other.state, other.measured) == ("ok", "200")


def test_no_number_is_off() -> None:
    assert beyond(float("nan"), 1.0, 0.02) == "+nan% off, at most 2.00% is allowed"
    assert beyond(1.0, 0.0, 0.02) == "+inf% off, at most 2.00% is allowed"


def times(count: int, spread: float, seed: int = 1, factor: float = 1.0) -> list[float]:
    """Return times of two cases in turns; the second takes `factor` times as long."""
    random = Random(seed)
    return [exp(random.gauss(log(factor) * (i % 2), spread)) for i in range(count)]


@pytest.mark.parametrize(("n", "expected"), [(10, 0.0134), (30, 0.00737), (100, 0.00398)])
def test_the_difference_follows_from_spread_and_number(n: int, expected: float) -> None:
    """Of a standard deviation of 1 %: 1.325 % of 10 runs by the quantiles of Student's t.

    t(0.975, 18) = 2.1009 and t(0.8, 18) = 0.8620 (Abramowitz and Stegun, table 26.10): 2.9629 times
    0.01 times sqrt(2/10) = 0.01325, and exp of it is 1.01334.
    """
    # Two values a and -a have the standard deviation a sqrt(2).
    pair = [exp(0.01 / 2**0.5), exp(-0.01 / 2**0.5)]
    assert smallest_difference(pair, n) == pytest.approx(expected, rel=0.01)


def test_differences_of_that_size_are_found_in_eighty_of_a_hundred_studies() -> None:
    found = 0
    studies = 1000
    apart = smallest_difference([exp(0.02 / 2**0.5), exp(-0.02 / 2**0.5)], 10)
    for seed in range(studies):
        random = Random(seed)
        a, b = ([random.gauss(mean, 0.02) for _ in range(10)] for mean in (0.0, log(1 + apart)))
        p = stats.ttest_ind(b, a, equal_var=False, alternative="greater").pvalue
        found += int(p < 0.025)
    # 80 of 100, by Student's t; a thousand studies have a standard error of 1.3.
    assert 0.76 <= found / studies <= 0.84


# Of 0.1 expected ones more than 2 come up once in 6000 times, of 0.3 more than 3 once in 4000.
MANY = [pytest.param(runs, 3000, 3, marks=pytest.mark.simulations) for runs in (10, 20)]


@pytest.mark.parametrize(("runs", "studies", "most"), [(10, 1000, 2), *MANY])
def test_equal_runs_raise_an_alarm_once_in_ten_thousand_times(
    runs: int, studies: int, most: int
) -> None:
    found = [judge_resolution(times(runs, 0.03, seed)).state for seed in range(studies)]
    assert found.count("off") <= most


def test_a_node_on_which_every_second_run_is_slower_is_told() -> None:
    found = judge_resolution(times(20, 0.005, factor=1.05))
    assert found.state == "off"
    assert "something alternates" in found.why


FINDINGS = (
    Finding("instructions", "P", "ok", "1,000 in the loop", "1,000"),
    Finding("energy", "core", "off", "grows", "nothing", "stands still", ("energy_core_j",)),
    Finding("temperature", "", "absent", "rises", why="no sensor"),
)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return open_node(build_tree(tmp_path, "i9-14900k"))


def test_a_proof_is_read_as_it_was_kept(node: Node, tmp_path: Path) -> None:
    proof = new_proof(node, FINDINGS, 61.27, quick=False)
    assert read_proof(keep(proof, tmp_path / "x" / FILE_NAME)) == proof
    assert proof.summary == "1 ok, 1 off, 1 absent"
    assert proof.names_off == "energy core"
    assert proof.elapsed_s == 61.3


def test_the_latest_proof_of_a_node_is_that_of_its_configuration(node: Node) -> None:
    assert latest_proof(node) is None
    proof = new_proof(node, FINDINGS, 1.0, quick=True)
    keep_for_node(proof, node.root)
    assert latest_proof(open_node(node.root)) == proof

    (node.root / CPU / "intel_pstate/status").write_text("passive\n")
    assert latest_proof(open_node(node.root)) is None


def test_a_user_without_a_home_has_no_proof_and_is_told_how_to_keep_one(node: Node) -> None:
    with user_without_account():
        assert latest_proof(replace(node, root=Path("/"))) is None
        with pytest.raises(StudyError, match=r"; or name another folder in \$PINSTUDY_STATE"):
            keep_for_node(new_proof(node, FINDINGS, 1.0, quick=True), Path("/"))
