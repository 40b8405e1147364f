"""Energy of a meter that is no RAPL: its counter's gain, or its power integrated over samples.

A thread of pinstudy reads a power about as often as the meter renews it, and the trapezoidal rule
makes joules of it. The thread has the CPUs of the thread that starts it: those that are left beside
a run's own. A meter tells what was some time ago, up to its update period: a run has to last
LEAST_UPDATES of these, or has no energy.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pinstudy.base.command import without_interruption
from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.base.units import duration
from pinstudy.runners.records.energy import LEAST_UPDATES, SCOPES, scope_fields

# More samples cost the harness more, and tell little more of a run of seconds.
SHORTEST_PERIOD_S = 0.02
# Where nobody says how often a meter is renewed: no slower one is known beside batteries.
UNTOLD_UPDATE_S = 1.0
# Of the window: the longest time without a sample, as of a thread that got no CPU.
LONGEST_GAP = 0.2


@dataclass(frozen=True)
class FoundMeter:
    """A meter beside RAPL that a node or a site shows, by a name that reboots do not change.

    `read` returns watts, or with the unit `J` the joules since some moment. `update_s` is how often
    the value is renewed, None where nobody says so; `resolution` its smallest step, in `unit`, None
    likewise. `label` is what the board's maker calls it. `problem` says why it cannot be used now,
    `grant` is the command that helps. `by_name` is why it is used only where it is named; empty for
    one that may be chosen without.
    """

    name: str
    scope: str
    read: Callable[[], float | Unavailable]
    unit: Literal["W", "J"] = "W"
    update_s: float | None = None
    resolution: float | None = None
    label: str = ""
    problem: str = ""
    grant: str = ""
    by_name: str = ""

    @property
    def renewed_s(self) -> float:
        """The update period to reckon with, in seconds."""
        return UNTOLD_UPDATE_S if self.update_s is None else self.update_s

    @property
    def least_s(self) -> float:
        """The shortest run of which it tells the energy, in seconds."""
        shortest_s = SHORTEST_PERIOD_S if self.unit == "W" else 0.0
        return LEAST_UPDATES * max(self.renewed_s, shortest_s)

    @property
    def facts(self) -> str:
        """Its scope, update period and resolution in words."""
        renewed = f"every {duration(self.renewed_s)}"
        if self.update_s is None:
            renewed += " (taken for granted)"
        step = "" if self.resolution is None else f", in steps of {self.resolution:g} {self.unit}"
        label = f" {self.label!r}," if self.label else ""
        shortest = f"runs of {duration(self.least_s)} or more"
        return f"{self.scope},{label} {self.unit} {renewed}{step}: {shortest}"


class SampledMeter:
    """Measures by a found meter from `start` to `stop`; one meter serves many runs."""

    def __init__(self, found: FoundMeter, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        self.found = found
        self._clock = clock
        self._samples: list[tuple[float, float]] = []
        self._problem = found.problem
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take the first sample, and have a thread take those of a power that follow."""
        self._end_thread()
        self._samples, self._problem = [], self.found.problem
        self._take()
        if self.found.unit == "W" and not self._problem:
            self._ended.clear()
            self._thread = threading.Thread(target=self._follow, name="power", daemon=True)
            # It must not take a signal that the main thread holds back.
            with without_interruption():
                self._thread.start()

    def sample(self) -> None:
        """Read a counter, so that one that is set anew is seen."""
        if self._thread is None:
            self._take()

    def stop(self) -> None:
        """End the thread and take the last sample."""
        self._end_thread()
        self._take()

    def problems(self) -> dict[str, str]:
        """Return the reason why its scope cannot be measured, as far as known now."""
        return {self.found.scope: self._problem} if self._problem else {}

    def reading(self) -> Reading:
        """Return what was measured between `start` and `stop`.

        Fields: `energy_board_j` or that of another scope, gross; `energy_window_s`, the seconds
        from the first sample to the last; `energy_source`; of a power also `energy_samples`, their
        number, and `energy_period_s`, the mean time between them.
        """
        window_s = self._samples[-1][0] - self._samples[0][0] if self._samples else 0.0
        joules = self._joules(window_s)
        found = scope_fields(self.found.scope, joules, window_s, self.found.name)
        if self.found.unit == "W" and SCOPES[self.found.scope] in found.fields:
            count = len(self._samples)
            found.fields["energy_samples"] = count
            found.fields["energy_period_s"] = window_s / (count - 1)
        return found

    def _joules(self, window_s: float) -> float | Unavailable:
        name = self.found.name
        if self._problem or not self._samples:
            return Unavailable(self._problem or "not measured")
        if window_s < self.found.least_s:
            # The same for every run, so that tables say it once.
            least = f"{duration(self.found.least_s)}, {LEAST_UPDATES} of its update periods"
            return Unavailable(f"{name}: a run has to last {least}")
        if self.found.unit == "J":
            return self._samples[-1][1] - self._samples[0][1]
        gap_s = max(after - before for (before, _), (after, _) in pairwise(self._samples))
        if gap_s > LONGEST_GAP * window_s:
            return Unavailable(
                f"{name}: no sample in {duration(gap_s)} of {duration(window_s)}, more than "
                f"{LONGEST_GAP:.0%}"
            )
        return trapezoid(self._samples)

    def _take(self) -> None:
        """Take a sample at the middle of its reading, unless an earlier one has failed."""
        if self._problem:
            return
        began_s = self._clock()
        try:
            value = self.found.read()
        except StudyError as error:
            value = Unavailable(str(error))
        if isinstance(value, Unavailable):
            self._problem = value.reason
        elif self.found.unit == "J" and self._samples and value < self._samples[-1][1]:
            self._problem = f"{self.found.name}: the counter went back"
        else:
            self._samples.append(((began_s + self._clock()) / 2, value))

    def _follow(self) -> None:
        period_s = max(self.found.renewed_s, SHORTEST_PERIOD_S)
        while not self._ended.wait(period_s) and not self._problem:
            self._take()

    def _end_thread(self) -> None:
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None


def trapezoid(samples: list[tuple[float, float]]) -> float:
    """Return the joules of powers in watts at times in seconds, by the trapezoidal rule."""
    return sum(
        (after_s - before_s) * (before_w + after_w) / 2
        for (before_s, before_w), (after_s, after_w) in pairwise(samples)
    )
