"""The scheduler of sched_ext that root's part runs for its user, by a program of root's alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinstudy.configs.decoding import InvalidError, decode
from pinstudy.configs.settings import PREFIX
from pinstudy.configs.settings import Scheduler as SchedulerText
from pinstudy.runners.host.trust import program_for_root
from pinstudy.runners.root.request import Answer, Handler, text_in
from pinstudy.runners.settings.sched_ext import OwnScheduler, unsafe_for_root

_NONE = "no scheduler was started"


class Scheduler:
    """Starts and ends the program of a scheduler."""

    def __init__(self) -> None:
        self._running: OwnScheduler | None = None

    @property
    def handlers(self) -> dict[str, Handler]:
        """The requests, by name."""
        return {
            "scheduler": self._start,
            "scheduler-ended": self._ended,
            "scheduler-end": self._end,
        }

    def close(self) -> None:
        """End the program if it still runs."""
        if self._running:
            self._running.end()
            self._running = None

    def _start(self, request: Mapping[str, Any]) -> Answer:
        command_line = _command_line(text_in(request, "command_line"))
        if problem := unsafe_for_root(command_line):
            raise ValueError(problem)
        program, *arguments = command_line.split()
        path = program_for_root(program)
        self.close()
        self._running = OwnScheduler([str(path), *arguments])
        return {"pid": self._running.pid}, None

    def _ended(self, _request: Mapping[str, Any]) -> Answer:
        return {"ended": self._running is None or self._running.has_ended()}, None

    def _end(self, _request: Mapping[str, Any]) -> Answer:
        if self._running is None:
            raise ValueError(_NONE)
        said, status = self._running.end()
        self._running = None
        return {"said": said.decode(errors="replace"), "status": status}, None


def _command_line(text: str) -> str:
    """Return a scheduler's program and arguments as a study has them; raises ValueError."""
    try:
        command_line: str = decode(SchedulerText, text)
    except InvalidError as error:
        raise ValueError(str(error)) from None
    if not command_line.startswith(PREFIX):
        raise ValueError(f"{command_line} is no program")
    return command_line
