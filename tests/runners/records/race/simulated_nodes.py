"""Nodes of which the truth is known: each case's true mean, and noise as real machines have it.

They give a race its runs, and nothing else; nothing of them is in the product.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from configs.repetitions import Race as Rule
from runners.records.race.race import Race
from runners.records.race_state import Key, RaceRun, RaceState

# What a block has in common: the machine's temperature, other users.
BLOCK_NOISE = 0.003


@dataclass(frozen=True)
class Node:
    """True means by case, the reference first, and the deviation of one run's logarithm.

    `heavy` noise only makes a run slower: the size of Student's t with three degrees of freedom.
    `drift` is by how much everything is slower after a hundred runs. In so many of its blocks, a
    share, others use the machine in `bursts`, and each run takes up to a half longer.
    """

    name: str
    means: tuple[float, ...]
    noise: tuple[float, ...]
    heavy: bool = False
    drift: float = 0.0
    bursts: float = 0.0

    @property
    def case_ids(self) -> list[str]:
        return [f"case{number}" for number in range(len(self.means))]

    def true_mean(self, case_id: str) -> float:
        return self.means[int(case_id.removeprefix("case"))]

    def within(self, case_id: str, share: float) -> bool:
        """Return whether a case is within a share of the best one."""
        return self.true_mean(case_id) <= min(self.means) * (1 + share)


@dataclass(frozen=True)
class Found:
    """What one search came to: what it recommends, and all its runs."""

    standing: RaceState
    runs: Mapping[Key, RaceRun]

    @property
    def picked(self) -> str:
        """The case to take: the best one if it is a gain, else that which the user has."""
        gain = self.standing.decision == "gain" and self.standing.best is not None
        return str(self.standing.best) if gain else self.standing.reference


def search(node: Node, rule: Rule, seed: int) -> Found:
    """Let a node's cases race once; the same seed gives the same runs."""
    dice = random.Random(seed)
    runs: dict[Key, RaceRun] = {(node.case_ids[0], -1): _run(node, node.case_ids[0], 0.0, 0, dice)}
    race = Race(node.case_ids, rule, [runs[node.case_ids[0], -1]])
    while block := race.next_block():
        shift = dice.gauss(0, BLOCK_NOISE)
        burst = 0.4 if dice.random() < node.bursts else 0.0
        dice.shuffle(block)
        for key in block:
            runs[key] = _run(node, key[0], shift + dice.uniform(0, burst), len(runs), dice)
        race.take(block, runs)
    return Found(race.state(), runs)


def _run(node: Node, case_id: str, shift: float, made: int, dice: random.Random) -> RaceRun:
    deviation = node.noise[int(case_id.removeprefix("case"))]
    noise = abs(_student(dice)) if node.heavy else dice.gauss(0, 1)
    logarithm = shift + deviation * noise + node.drift * made / 100
    seconds = node.true_mean(case_id) * math.exp(logarithm)
    return RaceRun(seconds, seconds)


def _student(dice: random.Random) -> float:
    return dice.gauss(0, 1) / math.sqrt(sum(dice.gauss(0, 1) ** 2 for _ in range(3)) / 3)


def node_of(
    name: str, means: Sequence[float], noise: float | Sequence[float], **more: object
) -> Node:
    """Return a node; one deviation is that of all its cases."""
    deviations = (noise,) * len(means) if isinstance(noise, float) else tuple(noise)
    return Node(name, tuple(means), deviations, **more)  # type: ignore[arg-type]
