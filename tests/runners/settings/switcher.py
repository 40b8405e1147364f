"""A process that switches a node's settings without end, to be killed by a test.

    python -m tests.runners.settings.switcher ROOT SEED

What it does between two runs of a study is done here back to back, so that a kill at a random
moment hits the journal and the writes and not the programs between them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from configs.settings import Settings, settings_of
from runners.node.discovery import read_topology
from runners.settings.node_settings import NodeSettings
from tests.runners.settings.factors import VALUES


def some_settings(choice: random.Random) -> tuple[str, Settings]:
    """Return a governor with settings that are possible under it."""
    governor = choice.choice(["performance", "powersave", "current"])
    names = choice.sample(sorted(VALUES), choice.randrange(len(VALUES) + 1))
    values = {name: choice.choice(VALUES[name]) for name in names}
    return ("powersave" if "epp" in values else governor), settings_of(**values)


def main(root: Path, seed: int) -> None:
    choice = random.Random(seed)
    topology = read_topology(root)
    while True:
        settings = NodeSettings(root, topology, environment={})
        try:
            for _ in range(choice.randrange(1, 6)):
                kind = choice.choice(topology.kinds)
                cpus = choice.choice([topology.online, kind.cpus, kind.cpus[:2]])
                governor, asked = some_settings(choice)
                problem = settings.apply(governor, asked, cpus)
                assert problem is None, problem
                print(governor, asked.words, flush=True)
        finally:
            settings.restore()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
