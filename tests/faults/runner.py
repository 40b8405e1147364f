"""A study, to be killed by a test, that sets governors in a file tree.

    python -m tests.faults.runner FOLDER ROOT REPETITIONS

It does what a session does, with real programs on this node; what it sets is in the tree at ROOT.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from pinstudy.runners.execution.collectors import Collectors, LocalEngine
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.host.software import WITNESS, find_program
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.node import open_node, read_state
from pinstudy.runners.plan.plan import make_plan
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.study.agenda import agenda_of
from pinstudy.runners.study.crash_notice import attempt_marker
from pinstudy.runners.study.history import read_history
from pinstudy.runners.study.machine import WHOLE_STUDY
from pinstudy.runners.study.runner import Runner
from tests.runners.study.made_node import MadeNode, Quiet, origin_of
from tests.runners.study.test_energy import launch_of, study_of
from tests.support.governors import GovernorsAlone


def main(folder: Path, root: Path, repetitions: int) -> None:
    governors = GovernorsAlone(root, read_topology(root).cores)
    study = replace(
        # A test may hold the first run.
        study_of(folder, f"[ ! -p {folder}/gate ] || read _ <{folder}/gate; exec sleep 0.01"),
        governors=("performance", "powersave"),
        idle_power=None,
        collect=(),
        repetitions=repetitions,
    )
    node = open_node(Path("/"))
    set_node = open_node(root)
    plan = make_plan(study, node.topology, Path, (), lambda *_: None)
    witness = find_program(WITNESS)
    assert witness, "run `make setup`"
    collectors = Collectors(study, node, witness, plan.programs, {})
    with node_lock(root), ExitStack() as at_end:
        shard = Shard(folder / "records", "node1")
        at_end.enter_context(attempt_marker(shard.path, "node1", Tree(Path("/"))))
        history = read_history(folder, study, "n1")
        control = MadeNode(
            lambda case: launch_of(plan, case),
            lambda case: governors.apply(case.governor, (0, 1, 2, 3)),
            lambda _: read_state(set_node, (0, 1, 2, 3)),
        )
        origin = origin_of(study.name, study.digest, shard.attempt)
        print("started", flush=True)
        try:
            Runner(
                agenda_of(plan, history),
                shard,
                origin,
                control,
                LocalEngine(collectors),
                collectors,
                WHOLE_STUDY.may_start,
                Quiet(),
            ).run()
        finally:
            governors.restore()
            shard.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
