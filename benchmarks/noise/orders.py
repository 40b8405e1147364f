"""Simulated studies whose runs depend on when they are made: on the case before, or on a drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import shapes
from benchmarks.noise.shapes import Noise, Waves
from benchmarks.noise.simulate import outcomes_of
from pinstudy.analysis.statistics.carry_over import CarryOver, RunOrder, carry_over
from pinstudy.analysis.statistics.sample import Array
from pinstudy.analysis.verdict.values import Logs, difference_in
from pinstudy.runners.plan.runs import plan_order

Codes = NDArray[np.intp]
STEADY = Waves()

# So many different orders of each kind are made: to make one takes longer than to draw its times.
ORDERS = 200


@dataclass(frozen=True)
class Node:
    """A node of equal cases: case n has the noise n, or n modulo their number.

    Every other case, the first included, makes the next run so much shorter, the others longer:
    `inherited`, as a logarithm. `trend` is what it slows down by from the first run to the last
    one.
    """

    noises: tuple[Noise, ...]
    inherited: float = 0.0
    trend: float = 0.0
    waves: Waves = STEADY

    def left_behind(self, cases: int) -> Array:
        """Return what each case adds to the log time of the run after it."""
        return np.where(np.arange(cases) % 2, self.inherited, -self.inherited)

    def logs(self, rng: np.random.Generator, order: Codes) -> Array:
        """Return the log times of runs of cases in this order, after a run of the first one."""
        cases = int(order.max()) + 1
        logs = self.waves.sample(rng, len(order)) + self.trend * np.linspace(0, 1, len(order))
        logs += self.left_behind(cases)[np.concatenate([order[:1], order[:-1]])]
        for case in range(cases):
            made = order == case
            logs[made] += self.noises[case % len(self.noises)].sample(rng, (int(made.sum()),))
        return logs


@cache
def order_of(kind: str, cases: int, blocks: int, seed: int) -> Codes:
    """Return the cases, from 0, in the order in which a study makes their measured runs."""
    names = [str(case) for case in range(cases)]
    return np.array([int(run.case_id) for run in plan_order(names, blocks, 0, kind, seed)])


def _by_block(order: Codes, logs: Array, blocks: int) -> Array:
    """Return the log times by case and block; a case's runs ascend."""
    return logs[np.argsort(order, kind="stable")].reshape(-1, blocks)


@dataclass(frozen=True)
class Wrong:
    """The share of studies with a false outcome, and the mean log ratio of equals."""

    share: float
    ratio: float


def wrong_outcomes(
    node: Node, kind: str, cases: int, blocks: int, studies: int, seed: int
) -> Wrong:
    """Return how often equal cases are called different from the first one, and their ratio.

    The ratio is that of the second case, which makes the next run longer, over the first one.
    Runs that are made one case after the other have no pairs.
    """
    rng = np.random.default_rng(seed)
    unit = np.zeros(blocks, dtype=np.intp)
    wrong, ratios = 0, []
    for study in range(studies):
        order = order_of(kind, cases, blocks, study % ORDERS)
        first, *others = _by_block(order, node.logs(rng, order), blocks)
        paired = kind != "sequential"
        found = [difference_in(Logs(case, first, unit, unit, paired)) for case in others]
        known = [difference for difference in found if difference is not None]
        wrong += bool({"better", "worse"} & set(outcomes_of(known)))
        ratios += [found[0].log_ratio] if found[0] else []
    return Wrong(wrong / studies, float(np.mean(ratios)))


def found_carry_over(
    node: Node, kind: str, cases: int, blocks: int, seed: int, study: int
) -> CarryOver | None:
    """Return what a verdict tells of the case before in one simulated study."""
    order = order_of(kind, cases, blocks, study % ORDERS)
    logs = node.logs(np.random.default_rng((seed, study)), order)
    block = np.repeat(np.arange(blocks, dtype=float), cases)
    return carry_over(RunOrder(order, np.zeros_like(order), block, logs))


def told(node: Node, kind: str, cases: int, blocks: int, studies: int, seed: int) -> float:
    """Return the share of studies that tell that times depend on the case before."""
    found = (found_carry_over(node, kind, cases, blocks, seed, study) for study in range(studies))
    return float(np.mean([over is not None and over.found for over in found]))


def nodes_without_carry_over() -> Sequence[tuple[str, Node]]:
    """Return nodes on which nothing depends on the case before, by name."""
    quiet = shapes.QUIET
    return (
        ("normal 1 %", Node((shapes.NORMAL1,))),
        ("lognormal 2 % against quiet", Node((shapes.LOGNORMAL, quiet))),
        ("slow 1 in 10", Node((shapes.SLOW10,))),
        ("slow 1 in 4 against quiet", Node((shapes.SLOW25, quiet))),
        ("AR(1) 3 %, correlation 0.9", Node((quiet,), waves=Waves(0.03, 0.9))),
        ("bursts", Node((quiet,), waves=Waves(bursts=0.02))),
        ("10 % slower in the end", Node((shapes.NORMAL1,), trend=0.1)),
    )
