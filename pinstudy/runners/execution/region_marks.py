"""Answers a program's marks of its regions: the instruments are read while it waits.

The program has one end of a pair of sockets (include/pinstudy.h). A thread of this process answers
the other one, because a mark that waited for the next look at the program's threads would last for
milliseconds. The region that is left has its perf turned off, the one that is entered has its own
turned on: only one of them counts at a time, so that they share the hardware's counters without
being multiplexed.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from pinstudy.base.waiting import readable
from pinstudy.runners.measure.meter import METER_S
from pinstudy.runners.measure.perf.stat import Perf, start_perf
from pinstudy.runners.measure.regions import OUTSIDE, WRONG, Regions, parse_mark

VARIABLE = "PINSTUDY_REGIONS"
_MOST = 256
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class RegionInstruments:
    """What is read at a mark: joules by domain since `start_energy`, degrees Celsius by package.

    `sample` is called about once a METER_S, so that no counter wraps around unseen.
    """

    start_energy: Callable[[], None] = lambda: None
    sample: Callable[[], None] = lambda: None
    read_joules: Callable[[], Mapping[str, float]] = dict
    read_temperatures_c: Callable[[], Mapping[str, float]] = dict


@dataclass(frozen=True)
class SeenRegions:
    """What was seen of the regions of one execution.

    `perf_outputs` are what the perf of each region printed, `perf_problems` why one of them did not
    count. `longest_s` is the longest answer to a mark.
    """

    regions: Regions
    perf_outputs: Mapping[str, str] = field(default_factory=dict)
    perf_problems: Mapping[str, str] = field(default_factory=dict)
    longest_s: float = 0.0


class RegionMarks:
    """The marks of one execution's regions, answered from `start` to `finish`."""

    def __init__(self, names: Sequence[str], instruments: RegionInstruments) -> None:
        """Open the sockets; `descriptor` is the program's end."""
        self._regions = Regions(names)
        self._instruments = instruments
        self._own, self._program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._stop_read, self._stop = os.pipe()
        self._perfs: dict[str, Perf] = {}
        self._thread: threading.Thread | None = None
        self._longest_s = 0.0

    @property
    def descriptor(self) -> int:
        """The end that the program inherits."""
        return self._program.fileno()

    @property
    def environment(self) -> dict[str, str]:
        """The variable that tells the program its end."""
        return {VARIABLE: str(self.descriptor)}

    def attach(self, outside: Perf, command: Sequence[str], target: Sequence[str]) -> None:
        """Give each region a perf that is off; `outside` counts what is in none of them."""
        self._perfs[OUTSIDE] = outside
        for name in self._regions.names:
            self._perfs[name] = start_perf(command, target, enabled=False)

    def start(self) -> None:
        """Answer marks from now on; the program is about to start."""
        # The program's end stays open in the program alone.
        self._program.close()
        self._instruments.start_energy()
        self._thread = threading.Thread(target=self._answer_all, name="region marks")
        self._thread.start()

    def finish(self) -> SeenRegions:
        """Stop answering, after the program's end, and return what was seen."""
        self._end_thread()
        self._regions.end()
        own = {name: of for name, of in self._perfs.items() if name != OUTSIDE}
        outputs = {name: perf.finish() for name, perf in own.items()}
        problems = {name: perf.problem for name, perf in own.items() if perf.problem}
        return SeenRegions(self._regions, outputs, problems, self._longest_s)

    def close(self) -> None:
        """End the thread and all perfs of regions, and close the sockets."""
        self._end_thread()
        for name, perf in self._perfs.items():
            if name != OUTSIDE:
                perf.close()
        self._own.close()
        self._program.close()
        for descriptor in (self._stop_read, self._stop):
            with suppress(OSError):
                os.close(descriptor)
        self._stop_read = self._stop = -1

    def _end_thread(self) -> None:
        if self._thread:
            os.write(self._stop, b"s")
            self._thread.join()
            self._thread = None

    def _answer_all(self) -> None:
        try:
            while self._answer_next():
                pass
        finally:
            # A program that is not answered must not wait for ever.
            with suppress(OSError):
                self._own.shutdown(socket.SHUT_RDWR)

    def _answer_next(self) -> bool:
        """Answer the next mark, if one comes in time; return whether there may be more."""
        own = self._own.fileno()
        ready = readable([own, self._stop_read], METER_S)
        if not ready:
            self._instruments.sample()
        # What the program said before it ended is still read.
        return self._answer() if own in ready else self._stop_read not in ready

    def _answer(self) -> bool:
        """Answer one mark; return whether there may be more."""
        try:
            message, credentials, *_ = self._own.recvmsg(
                _MOST, socket.CMSG_SPACE(_CREDENTIALS.size)
            )
        except ConnectionResetError:
            return False
        if not message:
            return False
        began_s = monotonic()
        process = _CREDENTIALS.unpack(credentials[0][2][: _CREDENTIALS.size])[0]
        mark = parse_mark(message)
        refused = self._regions.refusal(mark, process) if mark else "this is no mark"
        if mark and not refused:
            before = self._regions.innermost
            self._switch(before, on=False)
            joules = self._instruments.read_joules()
            self._regions.follow(mark, joules, self._instruments.read_temperatures_c())
            self._switch(self._regions.innermost, on=True)
        # A program may mark more regions than this study measures.
        tell = refused if mark is None or mark.name in self._regions.names else ""
        with suppress(OSError):
            if mark is None or mark.kind != WRONG:
                self._own.send(tell.encode() or b"k", socket.MSG_NOSIGNAL)
        self._longest_s = max(self._longest_s, monotonic() - began_s)
        return True

    def _switch(self, name: str, *, on: bool) -> None:
        if perf := self._perfs.get(name):
            if on:
                perf.enable()
            else:
                perf.disable()
