"""Values of a JSON file that anybody may have written: each is what it should be, or an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from base.cpulist import parse_cpulist
from base.errors import UserError
from base.text import shown

_MAX_LETTERS = 2000


@dataclass(frozen=True)
class Checked:
    """A table of the file: `where` is its place, as in `pairs[3].runs[0]`, empty for the whole."""

    path: str
    where: str
    values: dict[str, Any]

    def wrong(self, name: str, expected: str) -> UserError:
        """Return the error that a field is not what was expected."""
        found = shown(self.values.get(name)) if name in self.values else "nothing"
        return UserError(
            f"{self.path}: {self._place(name)}: expected {expected}, found {found}; measure again "
            "with `pinstudy latency`, or name another file"
        )

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text of at most 2000 characters."""
        value = self.values.get(name)
        if not isinstance(value, str) or len(value) > _MAX_LETTERS:
            raise self.wrong(name, f"a text of at most {_MAX_LETTERS} characters")
        return value

    def word(self, name: str, known: tuple[str, ...]) -> str:
        """Return one of the words that are known."""
        value = self.values.get(name)
        if not isinstance(value, str) or value not in known:
            raise self.wrong(name, f"one of {', '.join(known)}")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value = self.values.get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, most: float) -> float:
        """Return a number above 0."""
        value: Any = self.values.get(name)
        if not is_positive(value, most):
            raise self.wrong(name, f"a number above 0 and up to {most:g}")
        return float(value)

    def cpus(self, name: str) -> tuple[int, ...]:
        """Return the CPUs of a list such as `0-3,8`."""
        text = self.text(name)
        try:
            return parse_cpulist(text)
        except ValueError:
            raise self.wrong(name, "a list of CPUs such as 0-3,8") from None

    def pair(self, name: str) -> tuple[int, int]:
        """Return two different CPU numbers."""
        value: Any = self.values.get(name)
        two = isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value)
        if not two or value[0] == value[1] or min(value) < 0:
            raise self.wrong(name, "two different CPU numbers")
        return value[0], value[1]

    def texts(self, name: str, most: int) -> dict[str, str]:
        """Return a table of texts; what is no text is passed over."""
        value = self.values.get(name, {})
        if not isinstance(value, dict) or len(value) > most:
            raise self.wrong(name, f"a table of at most {most} texts")
        return {key: text[:_MAX_LETTERS] for key, text in value.items() if isinstance(text, str)}

    def table(self, name: str) -> Checked:
        """Return a table inside this one."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "a table of keys")
        return Checked(self.path, self._place(name), value)

    def tables(self, name: str, most: int) -> list[Checked]:
        """Return a list of tables."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise self.wrong(name, f"a list of at most {most} tables")
        place = self._place(name)
        for at, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.wrong(name, f"a table as entry {at}")
        return [Checked(self.path, f"{place}[{at}]", item) for at, item in enumerate(value)]

    def numbers(self, name: str, most_values: int, most: float) -> list[float]:
        """Return a list of one number above 0 or more."""
        value = self.values.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= most_values:
            raise self.wrong(name, f"a list of 1 to {most_values} numbers")
        for at, number in enumerate(value):
            if not is_positive(number, most):
                raise UserError(
                    f"{self.path}: {self._place(name)}[{at}]: expected a number above 0 and up to "
                    f"{most:g}, found {shown(number)}; measure again with `pinstudy latency`, or "
                    "name another file"
                )
        return value

    def _place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def is_positive(value: object, most: float) -> bool:
    """Return whether a value is a number above 0 and not above `most`."""
    return isinstance(value, (int, float)) and type(value) is not bool and 0 < value <= most
