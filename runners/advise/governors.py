"""Which governors cases race under: the one in force, and those that can be had beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from configs.model import CURRENT_GOVERNOR
from runners.node.cpufreq import Cpufreq

# Answers why cases cannot run under a governor on these CPUs, None when they can.
WhyNot = Callable[[str, Sequence[int]], "str | None"]


@dataclass(frozen=True)
class Choice:
    """The governors, `current` first, and in lines why others are not among them."""

    governors: tuple[str, ...]
    left_out: tuple[str, ...]


def choose_governors(
    asked: Sequence[str] | None, now: Cpufreq, cpus: Sequence[int], why_not: WhyNot
) -> Choice:
    """Return the governors for a race on these CPUs; `asked` are those that a user has named.

    Without any that is `performance` and the one that saves power, as far as they can be set here.
    """
    found, left_out = [CURRENT_GOVERNOR], []
    if asked is None and now.reason:
        return Choice((CURRENT_GOVERNOR,), (f"other governors: {now.reason}",))
    for governor in ("performance", _saving(now, cpus)) if asked is None else asked:
        if governor == CURRENT_GOVERNOR:
            continue
        if now.why_not_in_force(governor, cpus) is None:
            left_out.append(f"governor {governor}: in force already, and so {CURRENT_GOVERNOR}")
        elif problem := why_not(governor, cpus):
            why = problem.removeprefix(f"the governor {governor} ")
            left_out.append(f"governor {governor}: {why}")
        else:
            found.append(governor)
    return Choice(tuple(found), tuple(left_out))


def _saving(now: Cpufreq, cpus: Sequence[int]) -> str:
    """Return the governor that follows the load with an eye on power.

    Drivers that offer schedutil take powersave for the lowest frequency (Linux
    Documentation/admin-guide/pm/cpufreq.rst); those in active mode only know powersave.
    """
    return "powersave" if now.why_not_offered("schedutil", cpus) else "schedutil"
