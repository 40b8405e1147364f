"""Blocks in which every case follows every case equally often, itself included. Pure.

A run inherits the heat and the turbo budget of the one before. In shuffled blocks of k cases a case
follows itself only from block to block, 1 / k as often as it would by chance; so the ratio of two
cases is off by 1 / k of the difference between what they leave behind, however many blocks there
are. Williams' squares (E. J. Williams, "Experimental Designs Balanced for the Estimation of
Residual Effects of Treatments", 1949) let each case follow each other one equally often within
blocks. Here a block also begins with the case that the one before it ended with, so that each
follows itself as often, too: a serially balanced sequence (D. J. Finney and A. D. Outhwaite,
"Serially Balanced Sequences in Bioassay", 1956).

Such a chain of rows is an Eulerian circuit of the graph in which a row is an edge from its first
case to its last one. The rows of a square of odd size and of its mirror image are one connected
graph. Those of a square of even size join pairs of cases; a second square joins the pairs to a
ring. So 2 k blocks are a cycle, after which another begins with other labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple


def shuffled(names: Sequence[str], salt: str) -> list[str]:
    """Return the names by the hash of a salt and each: the same on every Python."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{salt}/{name}".encode()).digest())


def balanced_blocks(cases: Sequence[str], salt: str) -> Iterator[list[str]]:
    """Yield blocks without end: within each 2 k of them, each case follows each one twice.

    What comes before the first run counts as the case of the first run. Of two cases, two blocks
    are a cycle. Fewer blocks are a part of a cycle that the salt drew.
    """
    if len(cases) < 2:
        while True:
            yield list(cases)
    first = shuffled(cases, f"{salt}/first")[0]
    for cycle in count():
        for row in _circuit(_rows(cases, f"{salt}/{cycle}"), first, f"{salt}/{cycle}/circuit"):
            yield row.cases


class _Row(NamedTuple):
    """A row of Williams' square: the labels 0, k - 1, 1, k - 2, …, shifted; or this mirrored.

    It ends k / 2 (rounded down) labels after the one that it begins with.
    """

    labels: Sequence[str]
    shift: int
    mirrored: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        """The first case and the last one."""
        last = self.labels[(self.shift + len(self.labels) // 2) % len(self.labels)]
        both = self.labels[self.shift], last
        return both[::-1] if self.mirrored else both

    @property
    def cases(self) -> list[str]:
        """All of its cases in order."""
        k = len(self.labels)
        zigzag = (n // 2 if n % 2 == 0 else k - 1 - n // 2 for n in range(k))
        row = [self.labels[(at + self.shift) % k] for at in zigzag]
        return row[::-1] if self.mirrored else row


def _rows(cases: Sequence[str], salt: str) -> list[_Row]:
    """Return the rows of one cycle: two squares of an even number of cases, or one and mirrored."""
    k = len(cases)
    labels = shuffled(cases, f"{salt}/labels")
    if k % 2:
        return [_Row(labels, shift, mirrored) for shift in range(k) for mirrored in (False, True)]
    if k == 2:
        return [_Row(labels, shift) for shift in range(k)]
    half = k // 2
    # The rows of the first square join labels[n] and labels[n + half]; these make the pairs a ring.
    links = {labels[half + n]: labels[(n + 1) % half] for n in range(half)}
    begins = shuffled(list(links), f"{salt}/links")
    second = [*begins, *(links[case] for case in begins)]
    return [_Row(square, shift) for square in (labels, second) for shift in range(k)]


def _circuit(rows: Sequence[_Row], first: str, salt: str) -> list[_Row]:
    """Return the rows so that each begins with the last case of the one before (Hierholzer 1873).

    The circuit begins and ends with the case `first`; the salt chooses among circuits.
    """
    leaving: dict[str, list[_Row]] = {}
    for at in shuffled([str(at) for at in range(len(rows))], salt):
        leaving.setdefault(rows[int(at)].ends[0], []).append(rows[int(at)])
    here, trail, path = first, list[_Row](), list[_Row]()
    while trail or leaving[here]:
        if leaving[here]:
            trail.append(leaving[here].pop())
            here = trail[-1].ends[1]
        else:
            path.append(trail.pop())
            here = path[-1].ends[0]
    return path[::-1]
