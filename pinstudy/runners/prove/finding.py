"""What was found of an instrument: the known truth, what it measured, whether both agree. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from msgspec import structs

from pinstudy.runners.records.instruments import Finding, State
from pinstudy.runners.records.perf.scaling import CANNOT_BE

TRIES = 3


@dataclass(frozen=True)
class Instrument:
    """An instrument that is being judged; makes its findings."""

    instrument: str
    of: str
    truth: str
    fields: tuple[str, ...] = ()

    def found(self, measured: str, off: str = "") -> Finding:
        """Return what it measured; it is off where `off` says how far."""
        state: State = "off" if off else "ok"
        return Finding(self.instrument, self.of, state, self.truth, measured, off, self.fields)

    def absent(self, why: str) -> Finding:
        """Return that it measures nothing here, and why; off where it shows what cannot be."""
        if CANNOT_BE in why:
            return self.found("no number", why)
        return Finding(self.instrument, self.of, "absent", self.truth, "", why, self.fields)


def confirmed(attempt: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield what an attempt finds; what is off must be off in each of TRIES attempts.

    On a busy node a single run may be disturbed. What is wrong with an instrument is so each time.
    """
    found = list(attempt())
    for tries in range(2, TRIES + 1):
        if not any(of.state == "off" for of in found):
            break
        again = {of.name: of for of in attempt()}
        found = [_later(of, again.get(of.name, of), tries) for of in found]
    yield from found


def _later(before: Finding, now: Finding, tries: int) -> Finding:
    if before.state != "off":
        return before
    if now.state == "off":
        return structs.replace(now, why=f"{now.why} (in each of {tries} tries)")
    measured = f"{now.measured} (in try {tries}; before, {before.measured})"
    return structs.replace(now, measured=measured)


def deviation(measured: float, truth: float) -> float:
    """Return by which share of the truth a measured value differs from it, with its sign."""
    return measured / truth - 1 if truth else float("inf")


def beyond(measured: float, truth: float, tolerance: float) -> str:
    """Return how far a value is off where that is more than a share `tolerance`, else nothing."""
    off = deviation(measured, truth)
    # NaN, too, is off.
    return "" if abs(off) <= tolerance else f"{off:+.2%} off, at most {tolerance:.2%} is allowed"
