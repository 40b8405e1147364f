"""One result of `perf stat` in a log: what it counted, of one run or of many."""

from __future__ import annotations

from dataclasses import dataclass

from runners.measure.perf.output import Row


@dataclass(frozen=True)
class Block:
    """What `perf stat` printed once.

    `line` is where it begins in its file, from 1, and `text` what it was read from. `repeats` is
    the number of runs that `-r` made, 1 without, None when the log does not tell; `averaged` is
    whether its numbers are means over them. `elapsed_error_s` is the standard error of the mean
    time, as perf prints it behind `+-`. `elapsed_text` is the time as printed, in seconds.
    `system_wide` is whether all CPUs were counted, idle ones and other programs too. `clock` is
    whether rows have times; without, only their shares of a nominal second mean something.
    `failure` is what perf said of how the program ended, empty when nothing.
    """

    line: int
    text: str
    rows: tuple[Row, ...]
    averaged: bool = False
    repeats: int | None = 1
    elapsed_s: float | None = None
    elapsed_text: str = ""
    elapsed_error_s: float | None = None
    user_s: float | None = None
    system_s: float | None = None
    system_wide: bool = False
    clock: bool = True
    failure: str = ""


class LogError(ValueError):
    """A log that cannot be understood: the line, counted from 1, and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line
