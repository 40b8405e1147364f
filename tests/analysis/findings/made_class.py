"""The cards of a made-up class: students with a few CPU models, and effects that are known."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.analysis.card import write_card
from tests.analysis.affinity.made_demo import MadeDemo, make_demo


@dataclass(frozen=True)
class Model:
    """A CPU model: the mean change of each mapping's time, and how unlike its laptops are."""

    name: str
    factors: Mapping[str, float]
    spread: float = 0.05


MODELS = (
    Model("Intel Core i7-13700H", {"same-cpu-pin": 0.4, "siblings-pin": 0.7}),
    Model("AMD Ryzen 7 7840U", {"same-cpu-pin": 0.8, "siblings-pin": 0.9}, 0.1),
    Model("Apple M2", {"same-cpu-pin": 1.2}),
    Model("Intel Core Ultra 7 155H", {"same-cpu-pin": 0.5, "siblings-pin": 1.02}),
    Model("Intel N100", {"same-cpu-pin": 1.0}, 0.02),
)


def make_class(folder: Path, students: int, seed: int = 1) -> Path:
    """Write a card for each student into the folder `cards`; return it."""
    made = make_demo(folder / "made", MadeDemo(latency=False, apps=["contention"]))
    path, _ = write_card(str(made), folder / "one.json")
    pattern = json.loads(path.read_text())
    chance = random.Random(seed)
    cards = folder / "cards"
    cards.mkdir()
    for student in range(students):
        # The first models are the commonest.
        model = MODELS[min(int(chance.expovariate(0.7)), len(MODELS) - 1)]
        card = _of_student(pattern, model, chance)
        (cards / f"student-{student + 1:03}.json").write_text(json.dumps(card))
    return cards


def _of_student(pattern: Mapping[str, Any], model: Model, chance: random.Random) -> dict[str, Any]:
    card: dict[str, Any] = deepcopy(dict(pattern))
    card["node"]["cpu_model"] = model.name
    card["node"]["memory_gib"] = chance.choice([8, 16, 32])
    kept = []
    # By the case's old place; a baseline is named by its place, counted from 1.
    for case in card["cases"]:
        if case["mapping"] == "unpinned" or case["mapping"] in model.factors:
            kept.append(case)
    places = {id(case): at for at, case in enumerate(kept, 1)}
    olds = dict(enumerate(card["cases"], 1))
    for case in kept:
        for comparison in case.get("comparisons", {}).values():
            comparison["against"] = places[id(olds[comparison["against"]])]
            log = math.log(model.factors[case["mapping"]]) + chance.gauss(0, model.spread)
            error = abs(chance.gauss(0.02, 0.015)) + 0.004
            comparison["log_ratio"], comparison["standard_error"] = log, error
            comparison["ratio"] = math.exp(log)
            for end in ("low", "high"):
                comparison.pop(end, None)
    card["cases"] = kept
    return card
