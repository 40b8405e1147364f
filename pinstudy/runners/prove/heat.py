"""Temperatures and throttle counters, before and after the node's heaviest load. Pure."""

from __future__ import annotations

from pinstudy.runners.prove.bench import Seen
from pinstudy.runners.prove.finding import Instrument
from pinstudy.runners.records.instruments import Finding

_BEFORE, _AFTER = "temperature_before_c", "temperature_after_c"


def judge_heat(seen: Seen) -> list[Finding]:
    """Judge the sensors by a run that kept all cores busy for some seconds."""
    warm = Instrument("temperature", "", "rises under load", (_BEFORE, _AFTER))
    throttle = Instrument("throttling", "", "counters are readable", ("throttle",))
    return [_judge_temperature(warm, seen), _judge_throttling(throttle, seen)]


def _judge_temperature(one: Instrument, seen: Seen) -> Finding:
    for name in (_BEFORE, _AFTER):
        if why := seen.why_without(name):
            return one.absent(why)
    before, after = seen.fields[_BEFORE], seen.fields[_AFTER]
    both = [package for package in before if package in after]
    if not both:
        return one.absent("no package was read both before and after")
    words = ", ".join(f"{package} {before[package]:g} to {after[package]:g} °C" for package in both)
    risen = any(after[package] > before[package] for package in both)
    return one.found(words, "" if risen else "no package became warmer")


def _judge_throttling(one: Instrument, seen: Seen) -> Finding:
    if why := seen.why_without("throttle"):
        return one.absent(why)
    counts = {name: of for name, of in seen.fields["throttle"].items() if of}
    told = ", ".join(f"{name} {of}" for name, of in counts.items())
    return one.found(told or "nothing was throttled")
