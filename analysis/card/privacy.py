"""What of results may stand on a card: words that pinstudy knows, never texts that it copies.

Reasons and footnotes may name the node, a user or a path. A card has the cause in pinstudy's own
words instead. Names that a study's author gave (apps, sizes, mappings, its title) are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.results.turns import FOOTNOTE
from base.text import one_line
from configs.core_kinds import KIND_ORDER
from configs.daemons import UNITS
from runners.records.values import FINAL, INTERRUPTED

# A cause in words, and by which words of a reason it is known; the first that fits counts.
_CAUSES: tuple[tuple[str, str], ...] = (
    ("the publication does not give it", r"publication"),
    ("the node has no such core kind", r"no (?:LP-E|[PE])[- ]?(?:cores?|CPUs?)\b|core kind"),
    ("too few CPUs for it", r"more threads than|too few CPUs|has only \d+"),
    ("no permission", r"permission|paranoid|not permitted|not allowed|root|privilege|CAP_"),
    ("the virtual machine has none", r"virtual machine|hypervisor|guest"),
    ("the run was too short", r"too short"),
    ("counted for a part of the time", r"multiplex|part of the time"),
    ("known for whole runs only", r"for whole runs only"),
    ("no energy counter", r"RAPL|powercap|energy"),
    (
        "no such counter, or perf lacks it",
        r"not supported|no such event|lacks|unknown event|no hardware|not counted|cannot count|PMU",
    ),
    ("no frequency driver", r"cpufreq|frequency"),
    ("imported, and not told there", r"imported|logs?\b"),
)
_STATUSES = (*FINAL, INTERRUPTED)
OTHER_CAUSE = "a reason that only its own results tell"
_PATTERNS = [(words, re.compile(pattern, re.IGNORECASE)) for words, pattern in _CAUSES]
# Footnotes of pinstudy's own words, numbers and core kinds.
_KINDS = "|".join(sorted(KIND_ORDER, reverse=True))
_FOOTNOTES = tuple(
    re.compile(pattern)
    for pattern in (
        r"numbers of a virtual node's model, not of hardware",
        r"measured in a virtual machine, whose CPUs .{1,60}: no evidence about hardware",
        r"guests were emulated \(QEMU TCG\), so that their times are not this node's"
        r"(?:; they are not compared where there are runs under KVM)?",
        r"programs ran with [\w ,-]{1,80}, inherited from pinstudy: usual ones are scheduled "
        r"otherwise",
        rf"core kinds declared by hand(?:: (?:(?:{_KINDS})=[\d,-]+(?:, |; )?)+)?",
        r"means and deviations that were imported \([a-z.]+\), without their runs",
        r"\d+ lines? of the records without a case, and not used",
        re.escape(FOOTNOTE),
    )
)
_DAEMONS = "running meanwhile, and known to change frequencies, masks or interrupts: "
LEFT_OUT = "a footnote of these results is not on the card: it may name the node or its users"
_PATH = re.compile(r"(?<![\w.])(?:~|\.{1,2})?(?:/[^\s/,;:'\"()]+){2,}/?")
_VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){0,3}", re.ASCII)
_COMPILER = re.compile(
    r"\b(gcc|g\+\+|GNU|clang\+\+|[Cc]lang|icpx|icx|nvc\+\+)(?![\w+])[^\d\n]{0,20}"
    r"(\d{1,3}(?:\.\d{1,3}){0,2})"
)
_RUNTIMES = ("libgomp", "libomp", "libiomp5", "libnvomp")


def cause_of(reason: str) -> str:
    """Return the cause that a reason names, in words of pinstudy's own."""
    return next((words for words, of in _PATTERNS if of.search(reason)), OTHER_CAUSE)


def causes(reasons: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the causes by measure or status, each once.

    Causes are known of what was not measured or not run, and of no run that went wrong.
    """
    return {
        name: [OTHER_CAUSE] if name in _STATUSES else list(dict.fromkeys(map(cause_of, of)))
        for name, of in reasons.items()
    }


def known_statuses(excluded: Mapping[str, int]) -> dict[str, int]:
    """Return how many runs had each status, of the statuses that there are."""
    return {name: count for name, count in excluded.items() if name in _STATUSES}


def footnotes_without_names(footnotes: Iterable[str]) -> Iterator[str]:
    """Yield the footnotes that name nobody; of daemons the known ones; and whether any is gone."""
    left_out = False
    for text in footnotes:
        if any(pattern.fullmatch(text) for pattern in _FOOTNOTES):
            yield one_line(text)
        elif text.startswith(_DAEMONS):
            names = text.removeprefix(_DAEMONS).split(", ")
            if known := [name for name in names if name in UNITS]:
                yield _DAEMONS + ", ".join(known)
        else:
            left_out = True
    if left_out:
        yield LEFT_OUT


def without_paths(text: str) -> str:
    """Return a text that an author wrote, on one line, without paths."""
    return _PATH.sub("(a path)", one_line(text))


def version_number(text: object) -> str | None:
    """Return the first number of a version: builds for one site append its name."""
    match = _VERSION.search(text) if isinstance(text, str) else None
    return match[0] if match else None


def compiler_in(build: object) -> str | None:
    """Return the compiler in the text on a program's build, without flags and folders."""
    match = _COMPILER.search(build) if isinstance(build, str) else None
    return f"{match[1]} {match[2]}" if match else None


def runtime_in(runtime: object) -> str | None:
    """Return the OpenMP runtime of a record and its version's number, without its path."""
    if not isinstance(runtime, dict):
        return None
    name = next((of for of in _RUNTIMES if of in str(runtime.get("name"))), None)
    if name is None:
        return None
    return " ".join(filter(None, (name, version_number(runtime.get("version")))))
