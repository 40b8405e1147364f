"""Measures how long CPUs need to hand a cache line to each other, with the program pingpong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base import VERSION
from base.errors import StudyError
from base.files import write_atomically
from base.text import ended_by, one_line
from base.units import utc_now
from runners.host.lock import node_lock
from runners.host.software import build_of, find_program, for_programs
from runners.latency.pairs import LatencyPlan, Pair
from runners.node.node import Node, read_state
from runners.node.topology import topology_json

PROGRAM = "pingpong-pthreads"
# It ends within microseconds of SIGTERM, unless the machine hangs.
_END_LIMIT_S = 5.0

# The version of the file's layout; readers refuse unknown versions.
SCHEMA = 1
FILE_NAME = "latency.json"
METHODS = ("cas", "store")

# The lines that each direction of a pair is measured with.
ADDRESSES = 2

# Seconds of a sample (sample_ns in apps/pingpong/sampling.hpp), seconds that a pair needs besides
# its samples (threads, pages), and samples of a run's warm-up (apps/pingpong/sampling.cpp).
_SAMPLE_S = 50e-6
_PAIR_S = 2e-3
_SAMPLES_OF_WARM_UP = 3

# Arguments: pairs done, all pairs, and expected seconds for the rest (None before the first pair).
Progress = Callable[[int, int, float | None], None]


@dataclass(frozen=True)
class LatencySettings:
    """How each pair is measured: two directions x ADDRESSES runs of `samples` or more.

    A run goes on until half the 95 % interval of its median is at most the share `precision` of
    the median, or it has as many samples as the program takes; with None it ends after `samples`.
    The program refuses fewer than 10 samples and more than 10000 (apps/pingpong/main.cpp).
    """

    method: str = "cas"
    samples: int = 30
    precision: float | None = 0.01
    seed: int = 1

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


def measure(
    node: Node,
    plan: LatencyPlan,
    settings: LatencySettings,
    progress: Progress,
    program: Path | None = None,
) -> dict[str, Any]:
    """Measure the pairs of a plan on this machine and return the content of the latency file.

    `program` is the pingpong to run, by default the one that was built.

    After a KeyboardInterrupt the content has the pairs done so far and is marked `interrupted`; if
    there are none, KeyboardInterrupt is raised. Raises StudyError when the program is not built or
    fails, when no pair could be measured, and when another process holds the node's lock.
    """
    with node_lock(node.root):
        return measure_locked(node, plan, settings, progress, program)


def measure_locked(
    node: Node,
    plan: LatencyPlan,
    settings: LatencySettings,
    progress: Progress,
    program: Path | None = None,
) -> dict[str, Any]:
    """Do what `measure` does, for a caller that holds the node's lock."""
    program = program or find_program(PROGRAM)
    if program is None:
        raise StudyError(f"{PROGRAM} is not built; {for_programs().sentence}")
    content = _identity(node, plan, settings, program)
    began = time.monotonic()
    progress(0, len(plan.pairs), None)
    measuring = _Measuring(program, settings.arguments(), plan.pairs)
    interrupted = False
    try:
        for done in measuring.pairs_done():
            passed_s = time.monotonic() - began
            left = len(plan.pairs) - done
            progress(done, len(plan.pairs), passed_s / done * left)
    except KeyboardInterrupt:
        if not measuring.pairs:
            raise
        interrupted = True
    finally:
        measuring.close()
    content["elapsed_s"] = round(time.monotonic() - began, 3)
    content["pairs"] = measuring.pairs
    content["left_out"] = measuring.left_out
    return content | ({"interrupted": True} if interrupted else {})


def write_latency(folder: Path, content: dict[str, Any]) -> Path:
    """Write `latency.json` into a folder, atomically, and return its path.

    Raises StudyError when the folder cannot be written.
    """
    path = folder / FILE_NAME
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    write_atomically(path, f"{text}\n".encode())
    return path


def _identity(
    node: Node, plan: LatencyPlan, settings: LatencySettings, program: Path
) -> dict[str, Any]:
    """Return the fields of the file that are known before the first pair is measured."""
    state = read_state(node, plan.cpus)
    known = {
        "boot_id": node.boot_id,
        "governor": state.fields.get("governor_read"),
        "build": build_of(program),
    }
    reasons = {
        "boot_id": node.facts["unavailable"].get("boot_id", "the kernel does not tell it"),
        "governor": state.unavailable.get("governor_read", "it could not be read"),
        "build": f"{program} is not of this pinstudy, or does not tell",
    }
    return {
        "schema": SCHEMA,
        "kind": "latency",
        "node_id": node.node_id,
        "node_digest": node.digest,
        "started_at": utc_now(),
        "method": settings.method,
        "plan": plan.name,
        "pairs_of_node": plan.of,
        "samples_least": settings.samples,
        "precision": settings.precision,
        "seed": settings.seed,
        "addresses": ADDRESSES,
        "topology": topology_json(node.topology),
        "versions": {"pinstudy": VERSION},
        **{name: value for name, value in known.items() if value is not None},
        "unavailable": {name: reasons[name] for name, value in known.items() if value is None},
    }


class _Measuring:
    """A run of pingpong for many pairs, whose output is read line by line.

    `pairs` and `left_out` grow in the form of the latency file.
    """

    def __init__(self, program: Path, arguments: Sequence[str], pairs: Sequence[Pair]) -> None:
        """Start the program; raises StudyError when it cannot be started."""
        self.pairs: list[dict[str, Any]] = []
        self.left_out: list[dict[str, Any]] = []
        self._name = program.name
        self._asked = frozenset(pairs)
        self._ended = False
        command = [str(program), *arguments, "--json-lines", "--pairs-from", "-"]
        pipe = subprocess.PIPE
        # In a file, because a pipe has no room for all pairs of a large node.
        with os.fdopen(os.memfd_create("pairs"), "w+b") as asked:
            asked.write("".join(f"{a}:{b}\n" for a, b in pairs).encode())
            asked.seek(0)
            try:
                # The program prints one line on stderr, when it ends: it fits into the pipe.
                self._process = subprocess.Popen(command, stdin=asked, stdout=pipe, stderr=pipe)
            except OSError as error:
                raise StudyError(f"{program}: cannot be started ({error.strerror})") from None

    def pairs_done(self) -> Iterator[int]:
        """Yield the number of pairs that are done (measured or left out) after each pair.

        Raises StudyError when the program fails or no pair could be measured, and KeyboardInterrupt
        even when only the program was interrupted.
        """
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if self._take(line):
                yield len(self.pairs) + len(self.left_out)
        status = self._process.wait()
        if status == -signal.SIGINT:
            raise KeyboardInterrupt
        if self.left_out and not self.pairs:
            first = self.left_out[0]
            a, b = first["cpus"]
            raise StudyError(f"no pair could be measured: CPUs {a} and {b}: {first['reason']}")
        if status != 0 or not self._ended:
            raise StudyError(f"{self._name}: {self._why(status)}")

    def close(self) -> None:
        """End the program if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _take(self, line: bytes) -> bool:
        """Keep the content of a line; return whether the line was about a pair."""
        try:
            said = json.loads(line)
            if "cpus" not in said:
                self._ended = self._ended or said.get("end") is True
                return False
            a, b = said["cpus"]
            if (a, b) not in self._asked:
                raise ValueError("a pair that was not asked for")
            if "left_out" in said:
                self.left_out.append({"cpus": [a, b], "reason": str(said["left_out"])})
            else:
                self.pairs.append({"cpus": [a, b], "runs": said["runs"]})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StudyError(f"{self._name}: its output cannot be read ({error})") from None
        return True

    def _why(self, status: int) -> str:
        assert self._process.stderr is not None
        lines = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        last = lines[-1].removeprefix("pingpong: ") if lines else ""
        ended = ended_by(-status) if status < 0 else f"exit status {status}"
        said = one_line(last)
        return f"{said} ({ended})" if said else ended
