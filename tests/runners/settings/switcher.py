"""A process that switches a node's governors without end, to be killed by a test.

    python -m tests.runners.settings.switcher ROOT SEED

What it does between two runs of a study is done here back to back, so that a kill at a random
moment hits the journal and the writes and not the programs between them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from runners.node.discovery import read_topology
from tests.support.governors import GovernorsAlone


def main(root: Path, seed: int) -> None:
    choice = random.Random(seed)
    topology = read_topology(root)
    while True:
        governors = GovernorsAlone(root, topology.cores)
        try:
            for _ in range(choice.randrange(1, 6)):
                kind = choice.choice(topology.kinds)
                cpus = choice.choice([topology.online, kind.cpus, kind.cpus[:2]])
                governor = choice.choice(["performance", "powersave", "current"])
                problem = governors.apply(governor, cpus)
                assert problem is None, problem
                print(governor, flush=True)
        finally:
            governors.restore()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
