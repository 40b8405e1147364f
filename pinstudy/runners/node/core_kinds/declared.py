"""Core kinds declared by hand, `--kinds P=0-7,E=8-23`, as in a guest that hides them.

Declared kinds replace those found in the node's files and are marked as declared wherever they
appear. A CPU that is not named is in no kind: no selection by kind uses it, but mappings without a
kind may.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.text import unknown_word
from pinstudy.runners.node.topology import KIND_ORDER, CoreKind

_EXAMPLE = "write --kinds P=0-7,E=8-23"


def parse_kinds(text: str) -> dict[str, tuple[int, ...]]:
    """Return the CPUs of each kind in a text such as `P=0-3,8-11,E=4-7`, best kind first.

    CPU lists may contain commas. Raises UserError for a kind that is none of P, E and LP-E or is
    named twice, for an invalid or empty CPU list, and for a CPU that is given to two kinds.
    """
    declared: dict[str, tuple[int, ...]] = {}
    owner: dict[int, str] = {}
    # A comma before the next kind; other commas are parts of a CPU list.
    for piece in re.split(",(?=[^,]*=)", text):
        name, equals, listed = piece.partition("=")
        name = name.strip()
        if not equals:
            raise UserError(f"--kinds: {text!r} does not start with a kind and '='; {_EXAMPLE}")
        if name not in KIND_ORDER:
            raise UserError(f"--kinds: {unknown_word('core kind', name, KIND_ORDER)}; {_EXAMPLE}")
        if name in declared:
            raise UserError(f"--kinds: {name} is named twice in {text!r}; {_EXAMPLE}")
        try:
            cpus = parse_cpulist(listed)
        except ValueError as error:
            raise UserError(f"--kinds: in the CPUs of {name}, {error}; {_EXAMPLE}") from None
        if not cpus:
            raise UserError(f"--kinds: {name} has no CPUs; {_EXAMPLE}")
        if twice := [cpu for cpu in cpus if cpu in owner]:
            raise UserError(
                f"--kinds: CPUs {format_cpulist(twice)} are given to both {owner[twice[0]]} and "
                f"{name}; a CPU is of one kind"
            )
        declared[name] = cpus
        owner |= dict.fromkeys(cpus, name)
    return {name: declared[name] for name in KIND_ORDER if name in declared}


def declare(
    text: str, found: Iterable[CoreKind], online: tuple[int, ...], offline: tuple[int, ...]
) -> tuple[tuple[CoreKind, ...], tuple[str, ...]]:
    """Return the kinds declared by `text` in place of those found, and notes on how they differ.

    Raises UserError as `parse_kinds` does, and when a declared CPU is offline or not there.
    """
    text = text.strip()
    declared = parse_kinds(text)
    named = {cpu for cpus in declared.values() for cpu in cpus}
    for what, wrong in (
        ("offline", named.intersection(offline)),
        ("not there", named.difference(online, offline)),
    ):
        if wrong:
            raise UserError(
                f"--kinds {text}: CPUs {format_cpulist(wrong)} are {what}; name CPUs of "
                f"{format_cpulist(online)}"
            )
    kinds = tuple(
        CoreKind(name, cpus, f"declared by --kinds {text}", declared=True)
        for name, cpus in declared.items()
    )
    notes = []
    left = set(online) - named
    if left:
        notes.append(f"--kinds does not name CPUs {format_cpulist(left)}; they are in no kind")
    here = {kind.name: kind.cpus for kind in found}
    if len(here) > 1 and here != declared:
        listed = ", ".join(f"{name} {format_cpulist(cpus)}" for name, cpus in here.items())
        notes.append(f"the declared core kinds are not those that the node shows: {listed}")
    return kinds, tuple(notes)
