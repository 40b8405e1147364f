"""A set of the keys of a study's runs that takes little memory for each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet

# A case_id, whether it is a warm-up run, and the repetition.
RunKey = tuple[str, bool, int]


class RunKeys(MutableSet[RunKey]):
    """A set of run keys, stored by case: a tuple for each run would take 200 bytes."""

    def __init__(self, keys: Iterable[RunKey] = ()) -> None:
        self._repetitions: dict[str, tuple[set[int], set[int]]] = {}
        for key in keys:
            self.add(key)

    def __contains__(self, key: object) -> bool:
        """Return whether the run is in the set."""
        if not isinstance(key, tuple):
            return False
        case_id, warmup, repetition = key
        found = self._repetitions.get(case_id)
        return found is not None and repetition in found[warmup]

    def __iter__(self) -> Iterator[RunKey]:
        """Yield the keys, case by case."""
        for case_id, both in self._repetitions.items():
            for warmup in (False, True):
                for repetition in both[warmup]:
                    yield case_id, warmup, repetition

    def __len__(self) -> int:
        """Return the number of runs."""
        return sum(len(plain) + len(warmups) for plain, warmups in self._repetitions.values())

    def add(self, key: RunKey) -> None:
        """Add a run."""
        case_id, warmup, repetition = key
        self._repetitions.setdefault(case_id, (set(), set()))[warmup].add(repetition)

    def discard(self, key: RunKey) -> None:
        """Remove a run, if it is in the set."""
        case_id, warmup, repetition = key
        if case_id in self._repetitions:
            self._repetitions[case_id][warmup].discard(repetition)
