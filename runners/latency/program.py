"""Runs pingpong for many pairs, reads its output line by line, and can stop it at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from base.errors import StudyError
from base.text import ended_by, one_line
from runners.latency.pairs import Pair

PROGRAM = "pingpong-pthreads"

# It ends within microseconds of SIGTERM, unless the machine hangs.
_END_LIMIT_S = 5.0


class Measuring:
    """One run of the program; `pairs` and `left_out` grow in the form of the latency file."""

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
