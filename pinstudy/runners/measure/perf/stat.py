"""A `perf stat` process whose counters are turned on and off by commands, and a trial of perf.

perf does not start the program: it attaches, by process number, to one that waits before exec. So
neither launchers nor pinstudy's own helper are counted, and the program's real parent gets its exit
status. Counters start disabled; they are enabled, and perf acknowledges it, before the program is
released.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pinstudy.base.command import CommandResult, ask, wait_for
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import is_shortage
from pinstudy.base.files import copy_content
from pinstudy.base.text import ended_by, one_line
from pinstudy.base.waiting import readable
from pinstudy.runners.host.privileges import root_helper
from pinstudy.runners.host.root_helper import RefusedError, RootHelper
from pinstudy.runners.host.starter import INSTRUMENT, marked
from pinstudy.runners.measure.perf.events import OLDEST_PERF, OUTPUT, parse_perf_version
from pinstudy.runners.records.perf.output import Row, parse_perf_output

# perf explains at length what a user may change; the first sentence names the cause.
_MAX_REASON_CHARACTERS = 200
# perf takes an event that it does not know for the name of a file (parse-events.l): it must find no
# user's where it runs.
FOLDER = "/proc"
ATTACH_LIMIT_S = 20.0
FINISH_LIMIT_S = 20.0
TRIAL_LIMIT_S = 20.0


def perf_environment() -> dict[str, str]:
    """Return an environment in which perf's output does not vary and perf uses no network.

    A user's settings (root's, where perf runs as root) may change what perf records and prints
    (perf-config(1)); perf would request the symbols of every library from debuginfod servers.
    """
    fixed = {"LC_ALL": "C", "PERF_CONFIG": os.devnull, "DEBUGINFOD_URLS": ""}
    return marked(os.environ, INSTRUMENT) | fixed


def find_perf() -> str | None:
    """Return the path of perf: root's own one where root's part starts it; None without perf."""
    helper = root_helper()
    return (helper and helper.program("perf")) or shutil.which("perf")


def start_perf(
    command: Sequence[str],
    target: Sequence[str],
    cat: bool = False,
    enabled: bool = True,
    output: int | None = None,
) -> Perf:
    """Start a perf, by root's part where that starts it; the arguments are those of PerfStat."""
    helper = root_helper()
    if helper and command[0] == helper.program("perf"):
        return PerfOfRoot(helper, command, target, cat, enabled, output)
    return PerfStat(command, target, cat, enabled, output)


class PerfStat:
    """A perf that counts; `finish` returns its output, `close` ends it in any case.

    `command` is perf's without `target`, the options for what it counts. With `cat` it also runs
    that program, which ends with its standard input, so perf ends when this process does; with
    nothing to attach to it would never end. perf writes to the open file `output`, by default one
    that `finish` reads.
    """

    def __init__(
        self,
        command: Sequence[str],
        target: Sequence[str],
        cat: bool = False,
        enabled: bool = True,
        output: int | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Start perf and turn its counters on; `problem` is empty, or why that failed.

        Without `enabled` they stay off until `enable`. `prepare` is called in perf's process before
        its exec.

        Raises OSError when the host is short of what any process needs (base.errors).
        """
        self.problem = ""
        self._is_read = output is None
        self._output = os.memfd_create("perf-output") if output is None else os.dup(output)
        self._errors = os.memfd_create("perf-errors")
        control_read, self._control = os.pipe()
        self._acknowledge, ack_write = os.pipe()
        started = (
            *(f"/proc/self/fd/{self._output}" if word == OUTPUT else word for word in command),
            # Counters are off until perf reads `enable`; it answers `ack`.
            *("-D", "-1", "--control", f"fd:{control_read},{ack_write}"),
            *target,
            *(("--", "cat") if cat else ()),
        )
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                started,
                stdin=subprocess.PIPE if cat else subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=(control_read, ack_write, self._output),
                start_new_session=True,
                cwd=FOLDER,
                env=perf_environment(),
                preexec_fn=prepare,  # noqa: PLW1509 - given where there are no threads
            )
        except OSError as error:
            if is_shortage(error):
                self.close()
                raise
            self.problem = f"{command[0]}: {error.strerror}"
        finally:
            os.close(control_read)
            os.close(ack_write)
        try:
            # Either answer shows that perf has attached.
            if self._process and not self._send("enable" if enabled else "disable"):
                self._stop()
                reason = one_line(self._text(self._errors), _MAX_REASON_CHARACTERS) or "no answer"
                self.problem = f"perf could not attach: {reason}"
        except BaseException:
            self.close()
            raise

    def enable(self) -> None:
        """Turn the counters on again."""
        if self._process and not self.problem and not self._send("enable"):
            self.problem = "perf did not answer when it was to go on counting"

    def disable(self) -> None:
        """Turn the counters off at once, before `finish`, which takes perf some milliseconds."""
        if self._process and not self.problem and not self._send("disable"):
            self.problem = "perf did not answer when it was to stop counting"

    def finish(self) -> str:
        """Stop counting and return what perf wrote.

        Empty when perf did not work, when it wrote to another's file, and when something else ended
        it: perf then prints what it has counted so far as if that were all.
        """
        if self._process is None or self.problem:
            return ""
        early = self._process.poll()
        if early is None:
            if self._process.stdin:
                self._process.stdin.close()
            else:
                self._process.send_signal(signal.SIGINT)
            try:
                wait_for(self._process, FINISH_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.problem = f"perf did not end within {FINISH_LIMIT_S:g} s"
                self._stop()
                return ""
        status = self._process.returncode
        # After its output perf kills itself with the signal that stopped it.
        if status != 0 and (early is not None or status != -signal.SIGINT):
            how = f"was {ended_by(-status)}" if status < 0 else f"ended with status {status}"
            self.problem = f"perf {how} while it counted"
            return ""
        return self._text(self._output) if self._is_read else ""

    def close(self) -> None:
        """End perf if it still runs, and free its buffers."""
        self._stop()
        if self._process and self._process.stdin:
            self._process.stdin.close()
        for descriptor in (self._control, self._acknowledge, self._output, self._errors):
            with suppress(OSError):
                os.close(descriptor)
        self._control = self._acknowledge = self._output = self._errors = -1

    def _send(self, word: str) -> bool:
        """Send perf a command; return whether perf has acknowledged it."""
        with suppress(BrokenPipeError):
            os.write(self._control, f"{word}\n".encode())
        answered = readable([self._acknowledge], ATTACH_LIMIT_S)
        return bool(answered) and os.read(self._acknowledge, 16).startswith(b"ack")

    def _stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    @staticmethod
    def _text(descriptor: int) -> str:
        # perf moves the position of a descriptor that it inherits: read from the start.
        return os.pread(descriptor, 1 << 20, 0).decode(errors="replace")


class PerfOfRoot:
    """A perf that root's part has started: it counts what its user may not count.

    The arguments are those of PerfStat.
    """

    def __init__(
        self,
        helper: RootHelper,
        command: Sequence[str],
        target: Sequence[str],
        cat: bool,
        enabled: bool,
        output: int | None,
    ) -> None:
        """Raises ShortageError when the host is short of what any process needs."""
        self._helper, self._output = helper, output
        self._number: int | None = None
        self._recording: int | None = None
        self.problem, self._perf = "", command[0]
        options = {"command": list(command), "target": list(target), "cat": cat, "enabled": enabled}
        answer = self._ask("perf", recording=output is not None, **options)
        if "number" in answer:
            self._number = answer["number"]

    def enable(self) -> None:
        """Turn the counters on again."""
        if not self.problem:
            self._ask("perf-enable")

    def disable(self) -> None:
        """Turn the counters off at once, before `finish`, which takes perf some milliseconds."""
        if not self.problem:
            self._ask("perf-disable")

    def finish(self) -> str:
        """Stop counting and return what perf wrote; empty when it did not count to the end."""
        text = "" if self.problem else str(self._ask("perf-finish").get("text", ""))
        if self._output is not None and self._recording is not None:
            # perf of root's wrote into a file that root's part has made: it opens none of a user's.
            copy_content(self._recording, self._output)
        return text

    def close(self) -> None:
        """End perf if it still runs, and free its buffers."""
        if self._number is not None:
            self._ask("perf-close")
            self._number = None
        if self._recording is not None:
            os.close(self._recording)
            self._recording = None

    def _ask(self, request: str, **fields: object) -> dict[str, Any]:
        try:
            answer, received = self._helper.ask(request, number=self._number, **fields)
            if received is not None:
                self._recording = received
        except OSError as error:
            answer = {"problem": f"{self._perf}: {error.strerror}"}
        except RefusedError as error:
            answer = {"problem": str(error)}
        self.problem = answer.get("problem", "")
        return answer


Perf = PerfStat | PerfOfRoot


class CpuWindow:
    """Counts whole CPUs from `start` to `stop`; one serves many windows.

    `problem` is empty, or why nothing was counted; `window_s` is how long it counted, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        self._stat: Perf | None = None
        self._start_s = 0.0
        self.window_s = 0.0
        self.problem = ""

    def start(self, command: Sequence[str], cpus: Iterable[int]) -> None:
        """Start perf, which takes some 20 ms, and turn its counters on."""
        self.close()
        self._stat = start_perf(command, ("-C", format_cpulist(cpus)), cat=True)
        self.problem = self._stat.problem
        self._start_s, self.window_s = self._clock(), 0.0

    def stop(self) -> str | None:
        """Turn the counters off and return what perf printed; None where none was started."""
        if self._stat is None:
            return None
        self._stat.disable()
        self.window_s = self._clock() - self._start_s
        output = self._stat.finish()
        self.problem = self._stat.problem
        self.close()
        return output

    def close(self) -> None:
        """End a perf that was started and not stopped."""
        if self._stat:
            self._stat.close()
            self._stat = None


@dataclass(frozen=True)
class PerfTrial:
    """The result of `perf stat true`: its rows, or the problem that kept it from working.

    `version` is None when perf prints none: some distributions install a wrapper that only prints
    what else to install.
    """

    version: tuple[int, int] | None
    rows: tuple[Row, ...]
    problem: str = ""


def try_perf(perf: str, events: str) -> PerfTrial:
    """Count `events` (a text for perf's `-e`) of the program `true`; some 20 ms.

    Only opening a counter shows whether it works: guests, containers, seccomp filters and
    permissions all refuse in their own way.
    """
    helper = root_helper()
    if helper and perf == helper.program("perf"):
        try:
            answer, _ = helper.ask("perf-trial", events=events)
        except (OSError, RefusedError) as error:
            return PerfTrial(None, (), f"{perf} does not run: {error}")
        version = answer["version"] and tuple(answer["version"])
        return PerfTrial(version, parse_perf_output(answer["text"]).rows, answer["problem"])
    version, text, problem = trial_of(perf, events)
    return PerfTrial(version, () if problem else parse_perf_output(text).rows, problem)


def trial_of(perf: str, events: str) -> tuple[tuple[int, int] | None, str, str]:
    """Return perf's version, what it printed of `true`, and why it does not work, else empty."""
    first = ask([perf, "--version"], TRIAL_LIMIT_S, environment=perf_environment(), cwd=FOLDER)
    trial, text = _count_true(perf, events)
    if problem := first.problem or trial.problem:
        return None, "", f"{perf} does not run: {problem}"
    version = parse_perf_version(first.stdout)
    if trial.status == 0 and parse_perf_output(text).rows:
        return version, text, ""
    if version is None:
        return None, "", f"{perf} does not work: {_words(first.stdout + first.stderr)}"
    if version < OLDEST_PERF:
        oldest = ".".join(map(str, OLDEST_PERF))
        return version, "", f"perf cannot be told when to count (version {oldest} can)"
    return version, "", f"perf stat failed: {_words(trial.stderr)}"


def _count_true(perf: str, events: str) -> tuple[CommandResult, str]:
    descriptors = output, control, acknowledge = (os.memfd_create("perf-trial"), *os.pipe())
    try:
        columns = ("-x", ";", "-o", f"/proc/self/fd/{output}", "-e", events)
        command = [perf, "stat", *columns, "--control", f"fd:{control},{acknowledge}", "--", "true"]
        environment = perf_environment()
        counted = ask(
            command, TRIAL_LIMIT_S, environment=environment, pass_fds=descriptors, cwd=FOLDER
        )
        return counted, os.pread(output, 1 << 16, 0).decode(errors="replace")
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _words(text: str) -> str:
    return one_line(text) or "it says nothing"
