"""Measures how long CPUs need to hand a cache line to each other, with the program pingpong."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from pinstudy.base import VERSION
from pinstudy.base.decoding import decoded
from pinstudy.base.errors import StudyError
from pinstudy.base.files import write_atomically
from pinstudy.base.reading import Unavailable, reading_of
from pinstudy.base.text import ended_by, one_line
from pinstudy.base.units import utc_now
from pinstudy.configs.results_folder import LATENCY_FILE
from pinstudy.runners.host.software import build_of, find_program, for_programs
from pinstudy.runners.host.starter import marked
from pinstudy.runners.latency.pairs import LatencyPlan, Pair, plan_pairs
from pinstudy.runners.node.node import Node, read_state
from pinstudy.runners.node.topology import Topology, topology_table
from pinstudy.runners.records.latency_file import (
    ALL,
    REPRESENTATIVE,
    LatencyFile,
    LeftOutPair,
    MeasuredPair,
    Method,
)

PROGRAM = "pingpong-pthreads"

# The lines that each direction of a pair is measured with.
ADDRESSES = 2

# Seconds of a sample (sample_ns in apps/pingpong/sampling.hpp), seconds that a pair needs besides
# its samples (threads, pages), and samples of a run's warm-up (apps/pingpong/sampling.cpp).
_SAMPLE_S = 50e-6
_PAIR_S = 2e-3
_SAMPLES_OF_WARM_UP = 3

# The plan of a study that shall not wait: samples of each run, and seconds for all pairs.
BRIEF = "brief"
_BRIEF_SAMPLES = 100
_BRIEF_S = 15.0
_TIME_IS_UP = "the time was up"

# Arguments: pairs done, all pairs, and expected seconds for the rest (None before the first pair).
Progress = Callable[[int, int, float | None], None]


@dataclass(frozen=True)
class LatencySettings:
    """How each pair is measured: two directions x ADDRESSES runs of `samples` or more.

    A run goes on until half the 95 % interval of its median is at most the share `precision` of
    the median, or it has as many samples as the program takes; with None it ends after `samples`.
    The program refuses fewer than 10 samples and more than 10000 (apps/pingpong/main.cpp). After
    `limit_s` seconds the pairs that are left are left out.
    """

    method: Method = "cas"
    samples: int = 30
    precision: float | None = 0.01
    seed: int = 1
    limit_s: float | None = None

    def is_over(self, elapsed_s: float) -> bool:
        """Whether so many seconds are as long as it may take."""
        return self.limit_s is not None and elapsed_s >= self.limit_s

    def arguments(self) -> list[str]:
        """Return the program's arguments."""
        return [
            *("--method", self.method),
            *("--samples", str(self.samples)),
            *("--precision", str(self.precision or 0)),
            *("--addresses", str(ADDRESSES)),
            *("--seed", str(self.seed)),
        ]


def estimate_s(pairs: int, settings: LatencySettings) -> float:
    """Return the expected seconds for so many pairs when the fewest samples are enough."""
    runs = 2 * ADDRESSES
    return pairs * (_PAIR_S + runs * (settings.samples + _SAMPLES_OF_WARM_UP) * _SAMPLE_S)


def plan_of(topology: Topology, which: str) -> tuple[LatencyPlan, LatencySettings]:
    """Return pairs and settings for one of a study's latency plans (configs.study.LATENCY_PLANS).

    `brief` has a fixed number of samples, because a noisy node may need minutes to be precise.
    Raises UserError as `plan_pairs` does.
    """
    if which != BRIEF:
        settings = LatencySettings()
        return plan_pairs(topology, which, seed=settings.seed), settings
    settings = LatencySettings(samples=_BRIEF_SAMPLES, precision=None, limit_s=_BRIEF_S)
    plan = plan_pairs(topology, ALL, seed=settings.seed)
    if estimate_s(len(plan.pairs), settings) > _BRIEF_S:
        plan = plan_pairs(topology, REPRESENTATIVE, seed=settings.seed)
    return plan, settings


def measure(
    node: Node,
    plan: LatencyPlan,
    settings: LatencySettings,
    progress: Progress,
    program: Path | None = None,
) -> LatencyFile:
    """Measure the pairs of a plan on this machine and return the content of the latency file.

    The caller holds the node's lock. `program` is the pingpong to run, by default the one that was
    built.

    After a KeyboardInterrupt the content has the pairs done so far and is marked `interrupted`; if
    there are none, KeyboardInterrupt is raised, even when only the program was interrupted. Raises
    StudyError when the program is not built or fails, and when no pair could be measured.
    """
    program = program or find_program(PROGRAM)
    if program is None:
        raise StudyError(f"{PROGRAM} is not built; {for_programs().sentence}")
    content = _identity(node, plan, settings, program)
    requested, ended = frozenset(plan.pairs), False
    began = time.monotonic()
    progress(0, len(plan.pairs), None)
    try:
        with _running(program, settings, plan.pairs) as process:
            assert process.stdout is not None
            for line in process.stdout:
                said = _parsed(line, program, requested)
                if isinstance(said, bool):
                    ended = ended or said
                    continue
                if isinstance(said, MeasuredPair):
                    content.pairs.append(said)
                else:
                    content.left_out.append(said)
                done = len(content.pairs) + len(content.left_out)
                left_s = (time.monotonic() - began) / done * (len(plan.pairs) - done)
                progress(done, len(plan.pairs), left_s)
                if done < len(plan.pairs) and settings.is_over(time.monotonic() - began):
                    # CPUs of a guest that take turns need seconds for a pair.
                    _leave_out_rest(plan, content)
                    break
            else:
                _check_end(process, program, content, ended)
    except KeyboardInterrupt:
        if not content.pairs:
            raise
        content.interrupted = True
    content.elapsed_s = round(time.monotonic() - began, 3)
    return content


def _leave_out_rest(plan: LatencyPlan, content: LatencyFile) -> None:
    done = {pair.cpus for pair in content.pairs} | {pair.cpus for pair in content.left_out}
    content.left_out += [LeftOutPair(pair, _TIME_IS_UP) for pair in plan.pairs if pair not in done]


def write_latency(folder: Path, content: LatencyFile) -> Path:
    """Write `latency.json` into a folder, atomically, and return its path.

    Raises StudyError when the folder cannot be written.
    """
    path = folder / LATENCY_FILE
    write_atomically(path, msgspec.json.encode(content) + b"\n")
    return path


def _identity(
    node: Node, plan: LatencyPlan, settings: LatencySettings, program: Path
) -> LatencyFile:
    """Return the file as far as it is known before the first pair is measured."""
    state = read_state(node, plan.cpus)
    reading = reading_of(
        {
            "boot_id": node.boot_id or Unavailable(node.facts["unavailable"]["boot_id"]),
            "governor": state.fields.get("governor_read")
            or Unavailable(state.unavailable["governor_read"]),
            "built_with": build_of(program),
        }
    )
    return LatencyFile(
        schema=1,
        kind="latency",
        node_id=node.node_id,
        node_digest=node.digest,
        started_at=utc_now(),
        method=settings.method,
        plan=plan.name,
        pairs_of_node=plan.pairs_of_node,
        samples_least=settings.samples,
        precision=settings.precision,
        seed=settings.seed,
        addresses=ADDRESSES,
        topology=topology_table(node.topology),
        versions={"pinstudy": VERSION},
        **reading.fields,
        unavailable=reading.unavailable,
        pairs=[],
        left_out=[],
    )


@contextmanager
def _running(
    program: Path, settings: LatencySettings, pairs: Sequence[Pair]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run pingpong for these pairs within the context; raises StudyError if it cannot be started.

    It prints a line for each pair that is done, and is killed if it still runs at the end.
    """
    command = [str(program), *settings.arguments(), "--json-lines", "--pairs-from", "-"]
    pipe = subprocess.PIPE
    # In a file, because a pipe has no room for all pairs of a large node.
    with os.fdopen(os.memfd_create("pairs"), "w+b") as file:
        file.write("".join(f"{a}:{b}\n" for a, b in pairs).encode())
        file.seek(0)
        try:
            # The program prints one line on stderr, when it ends: it fits into the pipe.
            process = subprocess.Popen(
                command, stdin=file, stdout=pipe, stderr=pipe, env=marked(os.environ)
            )
        except OSError as error:
            raise StudyError(f"{program}: cannot be started ({error.strerror})") from None
    with process:
        try:
            yield process
        finally:
            process.kill()
            process.wait()


class _Said(Struct, frozen=True):
    """A line of the program: of a pair, with its runs or why it was left out, or of the end.

    At the end `left_out` counts.
    """

    cpus: Pair | None = None
    left_out: str | int | None = None
    end: bool = False


def _parsed(
    line: bytes, program: Path, requested: Collection[Pair]
) -> MeasuredPair | LeftOutPair | bool:
    """Return the file's item that a line is, or whether it is the end."""
    try:
        said = decoded(line, _Said)
        if said.cpus is None:
            return said.end
        if said.cpus not in requested:
            raise ValueError("a pair that was not asked for")
        if isinstance(said.left_out, str):
            return LeftOutPair(said.cpus, said.left_out)
        return decoded(line, MeasuredPair)
    except ValueError as error:
        raise StudyError(f"{program.name}: its output cannot be read ({error})") from None


def _check_end(
    process: subprocess.Popen[bytes], program: Path, content: LatencyFile, ended: bool
) -> None:
    """Wait for the program; raises StudyError when it failed or measured nothing."""
    assert process.stderr is not None
    status = process.wait()
    if status == -signal.SIGINT:
        raise KeyboardInterrupt
    if content.left_out and not content.pairs:
        first = content.left_out[0]
        a, b = first.cpus
        raise StudyError(f"no pair could be measured: CPUs {a} and {b}: {first.reason}")
    if status != 0 or not ended:
        how = ended_by(-status) if status < 0 else f"exit status {status}"
        lines = process.stderr.read().decode(errors="replace").strip().splitlines()
        last = one_line(lines[-1].removeprefix("pingpong: ")) if lines else ""
        raise StudyError(f"{program.name}: {f'{last} ({how})' if last else how}")
