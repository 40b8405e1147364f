"""Commands whose files are damaged, or something else: an answer or a line, never more.

`make fuzz` does the same for longer.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.damage import CHANGES, damaged
from tests.fuzz.outcome import outcome_of
from tests.fuzz.scenes import SCENES

# What draws takes seconds each time.
QUICK = ("tree", "records", "summaries", "logs", "configs", "submission", "journal")
OTHER = ("a folder", "a FIFO", "a link to /dev/zero", "a link to a kernel file", "NUL")


@pytest.mark.parametrize("name", QUICK)
def test_a_damaged_file_is_answered_in_words_and_in_time(name: str, tmp_path: Path) -> None:
    scene = SCENES[name](tmp_path)
    chance = random.Random(name)
    with scene.entered():
        for how in (*OTHER, *chance.sample(sorted(CHANGES), 4)):
            path = chance.choice(scene.inputs)
            arguments = scene.commands_reading(path)[0]
            seed = chance.randrange(1 << 30)
            with damaged(path, how, seed):
                outcome = outcome_of(arguments)
            assert not outcome.fault, f"{path.name}, {how}, seed {seed}: {outcome.fault}"
            assert outcome.status == 0 or outcome.out.strip() or outcome.err.strip()
