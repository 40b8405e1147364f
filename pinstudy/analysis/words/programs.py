"""Names of programs: an app and its region, with what tells it from the others of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import grouped
from pinstudy.base.text import one_line

_FIELDS: tuple[tuple[Callable[[TableKey], str], str], ...] = (
    (lambda key: key.build, "{}"),
    (lambda key: key.size, "{}"),
    (lambda key: key.schedule, "schedule {}"),
    (lambda key: key.wait_policy, "waiting {}"),
    (lambda key: key.guest_words[0], "{}"),
    (lambda key: key.guest_words[1], "{}"),
    (lambda key: key.guest_words[2], "{}"),
)


def program_names(keys: Sequence[TableKey]) -> Callable[[TableKey], str]:
    """Return a function from a table to its program's name, with what tells it from others.

    What goes with the number of threads, such as the serial build, does not tell more, nor does
    what a guest is beside the node. A region stands behind the app: `lulesh:solve`.
    """
    varied: dict[str, list[tuple[Callable[[TableKey], str], str]]] = {}
    for of_app in grouped(keys, lambda key: key.app):
        teams = grouped(of_app, lambda key: (key.threads_label, bool(key.guest_words[2])))
        varied[of_app[0].app] = [
            (value, words)
            for value, words in _FIELDS
            if any(len(set(map(value, of_team))) > 1 for of_team in teams)
        ]

    def name(key: TableKey) -> str:
        region = f":{key.region}" if key.region else ""
        parts = [words.format(text) for value, words in varied[key.app] if (text := value(key))]
        return one_line(" ".join([f"{key.app}{region}", *parts]))

    return name
