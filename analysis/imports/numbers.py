"""Numbers of imported cases' tables and rows, which stay the same when more is imported."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from analysis.imports.identity import Identity
from configs.library import list_mappings

# The published order; governors of other names come after these.
_GOVERNORS = ("performance", "powersave")


@dataclass
class Numbers:
    """The numbers that tables, and rows in them, have in a folder of results."""

    tables: dict[tuple[Hashable, ...], int] = field(default_factory=dict)
    rows: dict[tuple[int, tuple[Hashable, ...]], int] = field(default_factory=dict)

    def keep(
        self, table: tuple[Hashable, ...], row: tuple[Hashable, ...], numbers: tuple[int, int]
    ) -> None:
        """Remember the numbers of a case that is there already."""
        self.tables.setdefault(table, numbers[0])
        self.rows.setdefault((numbers[0], row), numbers[1])

    def number(self, cases: Iterable[Identity]) -> None:
        """Give new cases the next numbers: in the published order, whatever the files' order."""
        mappings = [mapping.name for mapping in list_mappings()]

        def place(case: Identity) -> tuple[object, ...]:
            mapping, governor = str(case.fields["mapping"]), str(case.fields["governor"])
            return (
                str(case.table[:3]), case.table[3:4], str(case.table[4:]),
                _rank(governor, _GOVERNORS), governor, _rank(mapping, mappings), mapping,
            )  # fmt: skip

        for case in sorted(cases, key=place):
            table = self.tables.setdefault(case.table, max(self.tables.values(), default=0) + 1)
            taken = [number for (of, _), number in self.rows.items() if of == table]
            self.rows.setdefault((table, case.row), max(taken, default=0) + 1)

    def of(self, case: Identity) -> tuple[int, int]:
        """Return the numbers of a case's table and row."""
        table = self.tables[case.table]
        return table, self.rows[table, case.row]


def _rank(name: str, known: Iterable[str]) -> int:
    order = list(known)
    return order.index(name) if name in order else len(order)
