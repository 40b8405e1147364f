"""Cores of one kind that are not alike: those that Turbo Boost Max 3.0 or AMD's prefcore favour.

They are no kind of their own, but runs on them cannot be compared with runs on the others. The
scheduler prefers them (ITMT), while a mapping takes its CPUs by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from base.cpulist import cpulists_by_value
from runners.host.tree import Tree
from runners.node.core_kinds.ranking import HIGHEST_PERF, MAX_FREQ, read_sign
from runners.node.topology import CoreKind


def unlike_cores(tree: Tree, kinds: Iterable[CoreKind], online: tuple[int, ...]) -> Iterator[str]:
    """Yield a sentence for each kind whose CPUs differ, with the CPUs of each value."""
    signs = [(sign, read_sign(tree, sign, online)) for sign in (MAX_FREQ, HIGHEST_PERF)]
    for kind in kinds:
        for sign, values in signs:
            groups = cpulists_by_value({cpu: values[cpu] for cpu in kind.cpus if cpu in values})
            if len(groups) > 1:
                best, *others = sorted(groups, reverse=True)
                rest = ", ".join(f"{value} on {groups[value]}" for value in others)
                yield (
                    f"not all {kind.name}-cores are alike: CPUs {groups[best]} are "
                    f"favoured ({sign} {best}, {rest}); mappings take CPUs by number"
                )
                break
