"""Numbers, CPUs and groups as they stand in the sentences on latencies."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.verdict import phrases
from base.cpulist import format_cpulist

PER_MILLION = 1e6
_MAX_LISTED = 6


def ns(value: float) -> str:
    """Return a time in ns, to the tenth where that is more than its noise."""
    return f"{value:.1f} ns" if value < 100 else f"{value:.0f} ns"


def millions(rate_per_s: float) -> str:
    """Return a rate in millions a second with three digits, without its unit."""
    value = rate_per_s / PER_MILLION
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def gained(ratio: float) -> str:
    """Return what a ratio of rates gains, as `+3.2 %`."""
    return f"{100 * (ratio - 1):+.1f} %"


def share(value: float) -> str:
    """Return a share of less than 1 as a percentage, to the tenth where it is small."""
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"


def cpus(numbers: Sequence[int]) -> str:
    """Return `CPU 3` or `CPUs 0-3,8`."""
    return f"CPU {numbers[0]}" if len(numbers) == 1 else f"CPUs {format_cpulist(numbers)}"


def listed(parts: Sequence[str], most: int = _MAX_LISTED) -> str:
    """Return the parts with commas and `and`; of very many the first, and how many more."""
    if len(parts) > most:
        return f"{', '.join(parts[:most])} and {len(parts) - most} more"
    return phrases.listed(parts)


def groups(many: Sequence[Sequence[int]], most: int = _MAX_LISTED) -> str:
    """Return groups of CPUs in one list, by their first CPU: `CPUs 0-3, 4-7 and 8-11`.

    A group whose list has a comma of its own stands in brackets.
    """
    texts = [format_cpulist(one) for one in sorted(many, key=min)]
    apart = len(texts) > 1 and any("," in text for text in texts)
    return "CPUs " + listed([f"({text})" if apart else text for text in texts], most)
