"""What a study measures beside its runs: contended cache lines, and the latency between CPUs.

Contended lines (`c2c`) are sampled after the runs. Sampling memory accesses slows a program down:
each case has an extra execution for it, without a record and in no mean. The result is one file a
case beside the records. Latency is measured before the first run, once a boot.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.decoding import decoded
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import read_regular, write_json
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import plural
from pinstudy.base.units import duration, utc_now
from pinstudy.configs.results_folder import C2C_UNAVAILABLE, LATENCY_FILE, LATENCY_UNAVAILABLE
from pinstudy.runners.execution.execute import (
    Harness,
    Observation,
    execute,
    execute_unless_shutting_down,
)
from pinstudy.runners.execution.outcome import classify, expected_of, proof_of
from pinstudy.runners.execution.output_file import temporary_folder
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.host.software import ask_version, for_tools
from pinstudy.runners.measure.perf.c2c import (
    kinds_sampled,
    line_bytes,
    read_recording,
    record_command,
    try_c2c,
)
from pinstudy.runners.measure.perf.events import read_core_pmus
from pinstudy.runners.measure.perf.stat import find_perf
from pinstudy.runners.node.node import Node
from pinstudy.runners.placement.thread_placement import hotplug_problem
from pinstudy.runners.plan.case import Case, case_fields, loop_fields
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.records.status import OK
from pinstudy.runners.study.runner import NodeControl, Progress

# The history of the files' schema; a reader refuses what is newer than itself.
# 1: the first.
SCHEMA = 1
# Larger files are not read for their boot; 1024 CPUs with 30 samples of each pair take less.
MAX_LATENCY_BYTES = 2**28


@dataclass(frozen=True)
class ContendedLines:
    """The executions under `perf c2c` that a plan asks for, and the folder of their files."""

    plan: Plan
    node: Node
    folder: Path

    @property
    def pending(self) -> tuple[Case, ...]:
        """The cases that still have no file."""
        return tuple(case for case in self.plan.sampled_cases if not self._path(case).exists())

    def make(
        self,
        witness: Path,
        node: NodeControl,
        may_start: Callable[[float | None], None],
        progress: Progress,
    ) -> None:
        """Execute each pending case once under `perf c2c record`, and write its file.

        perf c2c is tried once before: if this node cannot do it, the reason is written instead, and
        the next attempt tries again. A case that cannot run now gets no file, and one whose
        execution fails gets a file with the reason. `may_start` raises StoppedError when no further
        execution must start. StoppedError and KeyboardInterrupt pass through; the execution that
        they end gets no file. Raises StudyError when a file cannot be written.
        """
        if not self.pending:
            return
        perf = find_perf()
        modes = self._try(perf)
        version = (ask_version(perf) if perf else None) or "not known"
        if perf is None or isinstance(modes, str):
            fields = {"schema": SCHEMA, "unavailable": {"lines": modes}}
            write_json(self.folder / C2C_UNAVAILABLE, fields | ({"perf": version} if perf else {}))
            progress.warned(f"no contended cache lines: {modes}")
            return
        for number, case in enumerate(pending := self.pending, start=1):
            may_start(None)
            if problem := node.settle(case):
                progress.warned(f"no contended cache lines of {case.label} for now: {problem}")
                continue
            progress.waiting(f"perf c2c, {number} of {plural(len(pending), 'case')}: {case.label}")
            started_at = utc_now("milliseconds")
            sampled = self._sample(perf, modes, witness, case, node.launch(case), may_start)
            head = {
                "schema": SCHEMA,
                "case_id": case.case_id,
                "case": case_fields(case) | loop_fields(case),
                "node_digest": self.node.digest,
                "started_at": started_at,
                "perf": version,
            }
            write_json(self._path(case), head | sampled)
        with suppress(FileNotFoundError), OpenFolder(self.folder) as folder:
            folder.remove(C2C_UNAVAILABLE)

    def _try(self, perf: str | None) -> tuple[str, ...] | str:
        for case in self.plan.sampled_cases:
            if reason := case.engine.lacks.get("c2c"):
                return reason
        if perf is None:
            return f"perf is not installed; {for_tools().sentence}"
        return try_c2c(perf, self.node.root)

    def _sample(
        self,
        perf: str,
        modes: tuple[str, ...],
        witness: Path,
        case: Case,
        launch: Launch,
        may_start: Callable[[float | None], None],
    ) -> dict[str, Any]:
        """Execute a case under perf c2c; return the file's fields: commands and contended lines."""
        bytes_of_line = line_bytes(self.node.root)
        fields: dict[str, Any] = {"command": list(launch.command), "line_bytes": bytes_of_line}
        with temporary_folder() as folder:
            recording = folder / "perf.data"
            with recording.open("w+b") as stream:
                harness = Harness(
                    witness,
                    record_command(perf, modes),
                    cores=tuple(core.cpus for core in self.node.topology.cores),
                    perf_file=stream.fileno(),
                )
                try:
                    observed = execute_unless_shutting_down(
                        partial(execute, launch, case.app.limit_s, harness, cpus=case.mask),
                        may_start,
                    )
                except LaunchError as error:
                    return fields | {"unavailable": {"lines": str(error)}}
            fields["perf_command"] = list(observed.perf_command)
            if problem := _problem_of(observed, case):
                return fields | {"unavailable": {"lines": problem}}
            lines = read_recording(perf, recording, bytes_of_line)
        if isinstance(lines, str):
            return fields | {"unavailable": {"lines": lines}}
        return fields | lines | self._kinds(case, lines["events"])

    def _kinds(self, case: Case, events: list[str]) -> dict[str, Any]:
        """Return which core kinds were sampled, and which of the case's kinds were not."""
        kinds = self.node.topology.kinds
        sampled = kinds_sampled(events, read_core_pmus(self.node.root), kinds)
        if sampled is None:
            return {
                "unavailable": {"kinds": "perf's events do not tell which core kinds they are of"}
            }
        missed = [
            f"{kind.name} (CPUs {format_cpulist(set(kind.cpus) & set(case.mask))})"
            for kind in kinds
            if kind.name not in sampled and set(kind.cpus) & set(case.mask)
        ]
        why = {"kinds": f"perf has sampled no loads on {', '.join(missed)}"} if missed else {}
        return {"kinds": list(sampled), "unavailable": why}

    def _path(self, case: Case) -> Path:
        return self.folder / f"{case.case_id}.json"


def _problem_of(observed: Observation, case: Case) -> str | None:
    """Return why an execution is unusable; None when it would have been a good run."""
    if observed.perf_problem:
        return observed.perf_problem
    hotplug = hotplug_problem(observed.hotplugged_cpus)
    status, reason = classify(case, observed, proof_of(observed, expected_of(case)), hotplug)
    return None if status == OK else f"the program under perf c2c: {status}: {reason}"


def measure_once_a_boot(node: Node, which: str, folder: Path, progress: Progress) -> None:
    """Measure and write `latency.json` into a study's folder, unless it has this boot's.

    `which` is a word of LATENCY_PLANS. The caller holds the node's lock. When the latency cannot be
    measured, the user is warned, the reason is written beside the records, and the study goes on.
    KeyboardInterrupt passes through once the
    pairs so far are on the disk; the next attempt measures all of them again.
    """
    if _is_of_boot(folder / LATENCY_FILE, node.boot_id):
        return
    # Few studies ask for it.
    from pinstudy.runners.latency.measure import measure, plan_of, write_latency

    def report(done: int, of: int, left_s: float | None) -> None:
        # One line a pair would be thousands, and drawing them would disturb the measurement.
        if done in (0, of) or done % max(1, of // 20) == 0:
            left = "" if left_s is None else f", {duration(left_s)} left"
            progress.waiting(f"latency between CPUs, {done} of {of} pairs{left}")

    try:
        plan, settings = plan_of(node.topology, which)
        content = measure(node, plan, settings, report)
    except (StudyError, UserError) as error:
        progress.warned(f"the latency between CPUs is not measured: {error}")
        write_json(folder / LATENCY_UNAVAILABLE, {"unavailable": {"latency": str(error)}})
        return
    write_latency(folder, content)
    with suppress(FileNotFoundError), OpenFolder(folder) as opened:
        opened.remove(LATENCY_UNAVAILABLE)
    if content.interrupted:
        raise KeyboardInterrupt


def _is_of_boot(path: Path, boot_id: str | None) -> bool:
    try:
        head = decoded(read_regular(path, MAX_LATENCY_BYTES), _Head)
    except (OSError, ValueError):
        return False
    return head.boot_id == boot_id and not head.interrupted


class _Head(Struct):
    """What tells whether a file of latencies is of this boot."""

    boot_id: str | None = None
    interrupted: bool = False
