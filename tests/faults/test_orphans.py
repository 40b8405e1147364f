"""Processes that a killed runner left are ended before the next study measures."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from tests.faults.trial import Trial
from tests.support.processes import alive, children, name_of
from tests.support.wait import until


def witness_of(runner: int) -> int:
    """Return the witness that a runner has now."""

    def witnesses() -> list[int]:
        return [pid for pid in children(runner) if name_of(pid).startswith("pinstudy-witnes")]

    return until(witnesses)[0]


def test_a_study_does_not_measure_beside_what_a_killed_one_has_left(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 2)
    (tmp_path / "nap").write_text(
        f"#!/bin/sh\necho $$ >>{tmp_path}/starts\n"
        f"[ ! -e {tmp_path}/long ] || {{ setsid sleep 300 & exec sleep 300; }}\nexec sleep 0.02\n"
    )
    (tmp_path / "long").touch()
    runner = trial.start()
    trial.wait_for_start_after(0)
    program = int((tmp_path / "starts").read_text())
    # A program that has not become a sleep may still find that `long` is gone.
    until(lambda: name_of(program) == "sleep")
    witness = witness_of(runner.pid)
    # A stopped witness can end nothing, as on a node that swaps.
    os.kill(witness, signal.SIGSTOP)
    runner.send_signal(signal.SIGKILL)
    trial.wait_for(runner)
    try:
        assert alive(program), "there is nothing to be measured beside"
        (tmp_path / "long").unlink()
        status, err = trial.run()
        assert status == 0, err
        (ended,) = re.findall("ended what a pinstudy that was killed had left running: (.*)", err)
        # Before it may stand what else has not ended yet, such as perf on a busy machine.
        assert f"sleep ({program})" in ended
        trial.assert_no_process_left()
        trial.assert_complete()
    finally:
        for line in trial.processes():
            os.kill(int(line.partition(":")[0]), signal.SIGKILL)
